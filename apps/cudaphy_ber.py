#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulates bit and frame error rates of LDPC codes over white Gaussian noise.

Takes a code, a constellation, a decoder and a backend. Gives a table, a CSV file that a
later run continues, and a picture. The picture has confidence intervals, published
curves, uncoded theory and the Shannon limit."""

import argparse
import inspect
import os
import sys
import warnings
from pathlib import Path

from gnuradio import cudaphy
from gnuradio.cudaphy.error_rates import files as error_rate_files
from gnuradio.cudaphy.error_rates import names as error_rate_names
from gnuradio.cudaphy.error_rates import plots as error_rate_plots
from tqdm import tqdm

UNAVAILABLE = 77  # exit status where a backend can't be had; test drivers read "skipped"
INTERRUPTED = 130
USAGE = 2
EXAMPLES = """examples:
  cudaphy_ber --code "wifi n=1944 rate=1/2" --eb-n0 1:2:0.25 --csv wifi.csv --png wifi.png
  cudaphy_ber --code "dvbs2 frame=normal rate=3/4" --constellation qam16 --es-n0 9,9.5,10
  cudaphy_ber --code alist:my_code.alist --eb-n0=-1:3:0.5 --errors 50 --seconds 20
  cudaphy_ber --code "wifi n=648 rate=1/2" --eb-n0 1:2:0.5 --scheduler tcp://10.0.0.1:8786
  cudaphy_ber --overlay wifi.csv other.csv --png both.png

Write lists as 1,1.5,2 or first:last:step, and after "=" if they begin with a minus sign:
--eb-n0=-2,0.
Exit status: 0; 1 after an error or a failed check; 2 for wrong arguments; 77 if the backend can't
be had here; 130 if interrupted (what was counted is in the CSV file)."""


def number_list(text):
    """Numbers from "1,2.5" or "1:2:0.25"; the last one is included."""
    try:
        if ":" in text:
            first, last, step = map(float, text.split(":"))
            if not (step > 0 and last >= first and (last - first) / step < 1000):
                raise ValueError
            return [
                round(first + i * step, 9)
                for i in range(int((last - first) / step + 1.001))
            ]
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'"{text}" is neither numbers like 1,1.5,2 nor first:last:step'
        ) from None


def positive(kind):
    """The argument type of a number above 0; "none" means no limit."""

    def parse(text):
        try:
            value = None if text == "none" else kind(float(text))
        except (ValueError, OverflowError):
            value = -1
        if value is not None and not value > 0:
            raise argparse.ArgumentTypeError(f'"{text}" is not a number above 0, or none')
        return value

    return parse


def parser():
    made = argparse.ArgumentParser(
        prog="cudaphy_ber",
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    link = made.add_argument_group("what is simulated")
    link.add_argument(
        "--code",
        metavar="TEXT",
        help='family and its arguments as "wifi n=1944 rate=1/2", alist:FILE, qc:FILE, '
        '"uncoded n=1000"; see --list-codes',
    )
    ratio = link.add_mutually_exclusive_group()
    ratio.add_argument(
        "--eb-n0", type=number_list, metavar="LIST", help="dB for an information bit"
    )
    ratio.add_argument(
        "--es-n0", type=number_list, metavar="LIST", help="dB for a symbol"
    )
    link.add_argument(
        "--constellation", metavar="NAME", default="bpsk", help="default: bpsk"
    )
    link.add_argument(
        "--demapper",
        choices=("exact", "max_log"),
        default="exact",
        help="default: exact",
    )
    link.add_argument(
        "--data",
        choices=("random", "zeros"),
        default="random",
        help="random words, encoded (default), or the word of zeros alone",
    )

    decoder = made.add_argument_group("decoder (default: the library's)")
    decoder.add_argument("--iterations", type=int, dest="max_iterations", metavar="N")
    decoder.add_argument(
        "--algorithm",
        choices=("normalized_min_sum", "offset_min_sum", "sum_product"),
    )
    decoder.add_argument("--schedule", choices=("layered", "flooding"))
    decoder.add_argument(
        "--scale", type=float, help="factor of normalised min-sum; default: the code's"
    )
    decoder.add_argument("--offset", type=float, help="offset of offset min-sum")
    decoder.add_argument(
        "--arithmetic",
        choices=("float32", "int8"),
        help="default: int8 for layered normalised min-sum, otherwise float32",
    )
    decoder.add_argument(
        "--llr-steps",
        type=float,
        metavar="S",
        help="steps of int8 in a unit of LLR; default: each word's own",
    )
    decoder.add_argument(
        "--no-early-stop",
        dest="early_stop",
        action="store_false",
        default=None,
        help="run all iterations for every word",
    )

    end = made.add_argument_group("limits that end a point (none: no such limit)")
    end.add_argument(
        "--errors",
        type=positive(int),
        default=100,
        metavar="N",
        help="wrong frames; default: 100",
    )
    end.add_argument(
        "--frames",
        type=positive(int),
        default=1_000_000,
        metavar="N",
        help="default: 1e6",
    )
    end.add_argument("--seconds", type=positive(float), metavar="S")

    where = made.add_argument_group("where")
    where.add_argument(
        "--backend", choices=("auto", "cuda", "cpu", "reference"), default="auto"
    )
    where.add_argument("--device", type=int, default=0, help="index of the GPU")
    where.add_argument("--workers", type=int, metavar="N", help="default: one a core")
    where.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="address of a Dask cluster whose machines have this module",
    )
    where.add_argument(
        "--batch", type=int, metavar="WORDS", help="words simulated at once"
    )
    where.add_argument(
        "--seed", type=int, default=1, help="seed of words and noise; default: 1"
    )

    output = made.add_argument_group("output")
    output.add_argument(
        "--csv",
        metavar="FILE",
        help="file for the points; its points with enough errors are not simulated again, "
        "its other points are continued",
    )
    output.add_argument("--png", metavar="FILE", help="picture")
    output.add_argument(
        "--overlay",
        nargs="+",
        default=[],
        metavar="CSV",
        help="more curves in the picture",
    )
    output.add_argument(
        "--reference",
        nargs="+",
        default=["auto"],
        metavar="NAME",
        help="published curves in the picture: names of --list-references, files, none, or "
        "auto (default): all curves of the code",
    )
    output.add_argument("--title", metavar="TEXT", help="title of the picture")

    about = made.add_argument_group("instead of simulating")
    about.add_argument(
        "--list-codes",
        nargs="?",
        const="",
        metavar="FAMILY",
        help="list the families, or every code of one family",
    )
    about.add_argument("--list-references", action="store_true")
    about.add_argument(
        "--version",
        action="version",
        version=f"cudaphy_ber {cudaphy.__version__}",
        help="of gr-cudaphy",
    )
    about.add_argument(
        "--self-check",
        action="store_true",
        help="compare short runs with theory; about a minute",
    )
    return made


def reference_folder():
    """The folder of the published curves, in the source tree or installed."""
    here = Path(__file__).resolve().parent
    for folder in (
        here / "reference_curves",
        here.parent / "share/cudaphy/reference_curves",
    ):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"no reference_curves beside {here}")


def references():
    """All published curves, by name."""
    files = sorted(reference_folder().glob("*.csv"))
    return {path.stem: error_rate_files.read_reference(path) for path in files}


def chosen_references(names, codes):
    """The published curves that --reference chooses."""
    found, known = [], references()
    for name in names:
        if name == "auto":
            wanted = {error_rate_names.canonical(code) for code in codes}
            found += [
                one
                for one in known.values()
                if error_rate_names.canonical(one.code) in wanted
            ]
        elif name in known:
            found.append(known[name])
        elif name != "none":
            if not Path(name).is_file():
                raise ValueError(
                    f'reference "{name}" is neither a file nor one of {", ".join(known)}'
                )
            found.append(error_rate_files.read_reference(name))
    return found


def decoder_of(arguments):
    """The decoder's settings given on the command line."""
    names = (
        "max_iterations",
        "algorithm",
        "schedule",
        "scale",
        "offset",
        "arithmetic",
        "llr_steps",
        "early_stop",
    )
    given = {n: getattr(arguments, n) for n in names if getattr(arguments, n) is not None}
    known = inspect.signature(cudaphy.ldpc_decode).parameters
    for name in given:
        if name not in known:
            raise ValueError(f"this version's decoder has no choice of {name}")
    return given


def table_head(simulation):
    code = simulation.code
    tqdm.write(
        f"{code.name}: n {code.n}, k {code.k}; {simulation.identity()[1]}; "
        f"backend {simulation.backend}, {simulation.batch} words a slice"
    )
    tqdm.write(
        f"{'Eb/N0 dB':>8} {'Es/N0 dB':>8} {'frames':>10} {'wrong':>7} {'FER':>9} "
        f"{'95 % confidence':>19} {'BER':>9} {'iter.':>6} {'unseen':>6}"
    )
    sys.stdout.flush()


def table_row(point, new):
    low, high = point.frame_error_interval
    tqdm.write(
        f"{point.eb_n0_db:8.3f} {point.es_n0_db:8.3f} {point.frames:10d} "
        f"{point.frame_errors:7d} {point.frame_error_rate:9.2e} {low:9.2e} {high:9.2e} "
        f"{point.bit_error_rate:9.2e} {point.mean_iterations:6.2f} "
        f"{point.undetected_errors:6d}{'' if new else '  (from the file)'}"
    )
    sys.stdout.flush()


def duration(seconds):
    if seconds is None:
        return "?"
    minutes, seconds = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


class bar:
    """A progress bar on standard error with the part done, rate, errors and time left. If
    standard error is no terminal, there is no bar."""

    def __init__(self, points):
        self._bar = tqdm(
            total=points,
            disable=None,
            leave=False,
            bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed} {postfix}",
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._bar.close()

    def show(self, state):
        point = state.point
        self._bar.n = min(state.share, self._bar.total)
        self._bar.set_description_str(f"{point.eb_n0_db:.2f} dB", refresh=False)
        self._bar.set_postfix_str(
            f"{state.bits_per_second / 1e6:.1f} Mb/s, {point.frame_errors} wrong of "
            f"{point.frames}, {duration(state.seconds_left)} left",
            refresh=False,
        )
        self._bar.update(0)
        if not self._bar.disable:
            self._bar.refresh()


def simulate(arguments, simulation):
    """Runs the points. Returns the curve of the file with the new points."""
    identity = error_rate_files.identity_of(simulation)
    known = []

    def enough(point):
        return (arguments.errors and point.frame_errors >= arguments.errors) or (
            arguments.frames and point.frames >= arguments.frames
        )

    curve = error_rate_files.curve(identity)
    if arguments.csv:
        curve = error_rate_files.read_curve(arguments.csv, identity)
        known = curve.known(simulation.seed, simulation.batch, enough)

    def on_point(point, new):
        if new and arguments.csv:
            error_rate_files.append_point(arguments.csv, simulation, point)
        curve.points[round(point.es_n0_db, 6)] = (
            point,
            simulation.seed,
            simulation.batch,
        )
        table_row(point, new)

    table_head(simulation)
    with bar(len(arguments.eb_n0 or arguments.es_n0)) as progress:
        simulation.run(
            arguments.eb_n0,
            arguments.es_n0,
            arguments.errors,
            arguments.frames,
            arguments.seconds,
            known,
            on_point,
            progress.show,
        )
    return curve


def draw(arguments, curves):
    for path in arguments.overlay:
        curves = curves + error_rate_files.read_curves(path)
    codes = dict.fromkeys(curve.identity["code"] for curve in curves)
    shown = chosen_references(arguments.reference, codes)
    error_rate_plots.draw_error_rates(curves, arguments.png, shown, arguments.title)
    print(f"picture: {arguments.png}")


def run(arguments):
    if arguments.list_codes is not None:
        for line in error_rate_names.list_codes(arguments.list_codes):
            print(line)
        return True
    if arguments.list_references:
        for name, one in references().items():
            print(f"{name}\n    {one.code}; {one.decoder}\n    {one.source}")
        return True
    if arguments.self_check:
        from gnuradio.cudaphy.error_rates import check as error_rate_check

        return error_rate_check.self_check(arguments.backend, arguments.device)
    if arguments.code is None:
        if arguments.png and arguments.overlay:
            draw(arguments, [])
            return True
        raise ValueError("give a --code to simulate, or --png and --overlay to draw")
    if arguments.eb_n0 is None and arguments.es_n0 is None:
        raise ValueError("give the points, by --eb-n0 or --es-n0")
    if arguments.overlay and not arguments.png:
        raise ValueError("--overlay needs --png, the picture to draw")
    # Find errors of files before anything is simulated.
    if arguments.csv:
        open(arguments.csv, "ab").close()
    if arguments.png:
        os.stat(Path(arguments.png).resolve().parent)
        chosen_references(arguments.reference, [])
    simulation = cudaphy.error_rate_simulation(
        arguments.code,
        arguments.constellation,
        arguments.data,
        arguments.demapper == "max_log",
        arguments.seed,
        arguments.batch,
        arguments.workers,
        arguments.backend,
        arguments.device,
        arguments.scheduler,
        **decoder_of(arguments),
    )
    curve = simulate(arguments, simulation)
    if arguments.png:
        draw(arguments, [curve])
    return True


def print_message(problem):
    """A message that disturbs neither table nor progress bar."""
    tqdm.write(f"cudaphy_ber: {problem}", file=sys.stderr)


def main():
    arguments = parser().parse_args()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda text, *_, **__: print_message(text)
            return 0 if run(arguments) else 1
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return INTERRUPTED
    except cudaphy.BackendUnavailable as problem:
        print_message(f"skipped: {problem}")
        return UNAVAILABLE
    except ValueError as problem:
        print_message(problem)
        return USAGE
    except OSError as problem:
        print_message(problem)
        return 1
    except MemoryError as problem:
        print_message(f"too little memory: {str(problem) or 'choose a smaller --batch'}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
