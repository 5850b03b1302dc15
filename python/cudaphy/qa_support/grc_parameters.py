# SPDX-License-Identifier: GPL-3.0-or-later
"""For each block (good parameters, bad parameters), as they are typed in GRC. Names without quotes are
those of variables in the tests' flowgraphs."""

from gnuradio import cudaphy

PARAMETERS = {
    "cudaphy_matrix_inverse": (
        [{"order": "1"}, {"order": "64", "max_batch": "4"}]
        + [{"pivoting": '"partial"'}, {"pivoting": '"none"'}]
        + [{"type": "float", "order": "two"}],
        [{"order": "0"}, {"order": "65"}, {"order": "-4"}, {"pivoting": '"most"'}],
    ),
    "cudaphy_triangular_inverse": (
        [{"order": "1"}, {"order": "128", "max_batch": "4"}]
        + [{"lower": "False"}, {"unit_diagonal": "True"}]
        + [{"type": "float", "order": "two"}],
        [{"order": "0"}, {"order": "129"}, {"order": "-4"}],
    ),
    "cudaphy_symmetric_inverse": (
        [
            {"order": "1", "type": "float"},
            {"order": "two", "definite": '"positive"', "check": "False"},
            {"algorithm": '"bordering"', "max_batch": "2"},
        ],
        [
            {"order": "0"},
            {"order": "32769"},
            {"definite": '"negative"'},
            {"algorithm": '"best"'},
        ],
    ),
    "cudaphy_sparse_matvec": (
        [
            {"matrix": "[[1, 0, 2j]]", "rows": "1", "columns": "3"},
            {"matrix": "pilots", "rows": "two", "type": "float"},
            {"format": '"dictionary"'},
            {"format": '"diagonal"', "max_batch": "4"},
            {"format": '"bcrs"', "block": "8"},
        ],
        [
            {"rows": "0"},
            {"rows": "3"},
            {"columns": "-2"},
            {"matrix": "[[1, 0, 2]]"},
            {"matrix": "7"},
            {"format": '"csr"'},
            {"format": '"bcrs"', "block": "9"},
            {"block": "0"},
        ],
    ),
    "cudaphy_mimo_channel_estimator": (
        [
            {"receive_antennas": "16", "layers": "16", "pilot_symbols": "16"},
            {"receive_antennas": "1", "layers": "1", "tones": "1"},
            {"tones": "3"},
            {
                "pilot_kind": "own",
                "layers": "2",
                "pilots": "[[1, 1], [1, -1], [1j, 1]]",
            },
            {"pilot_kind": "own", "layers": "two", "pilots": "pilots"},
            {
                "tones": "65536",
                "max_batch": "1",
                "layers": "1",
                "receive_antennas": "1",
            },
            {"method": '"mmse"', "delay_spread": "0.1", "snr_db": "10", "window": "8"},
            {"times": "[0, 1.5, 3]", "doppler": "0.01"},
            {"times": "(0, 9)", "pilot_times": "(0, 3, 5, 8)", "group_symbols": "4"},
            {"tones": "3", "tone_numbers": "[-1, 1, 2]"},
            {"pilot_kind": "pattern", "pilots": "pattern", "layers": "two"},
        ],
        [
            {"receive_antennas": "0"},
            {"receive_antennas": "17"},
            {"layers": "0"},
            {"layers": "17", "pilot_symbols": "17"},
            {"tones": "0"},
            {"tones": "65537"},
            {"tones": "2"},
            {"pilot_symbols": "3"},
            {"pilot_kind": "own"},
            {"pilot_kind": "own", "pilots": "[1, 1, 1, 1]"},
            {"pilot_kind": "own", "pilots": "pilots"},  # of two layers, not four
            {"pilot_kind": "own", "layers": "2", "pilots": "[[1, 1], [2, 2], [3, 3]]"},
            {"pilot_kind": "own", "layers": "two", "pilots": "pilots", "tones": "2"},
            {"pilot_kind": "pattern"},
            {"pilot_kind": "pattern", "pilots": "pattern", "layers": "1"},
            {"pilot_kind": "pattern", "pilots": "pattern", "tones": "63"},
            {"method": '"best"'},
            {"method": '"mmse"', "delay_spread": "-0.1"},
            {"method": '"mmse"', "snr_db": 'float("nan")'},
            {"method": '"mmse"', "window": "0"},
            {"times": "[0]", "doppler": "0.6"},
            {"times": "[0]", "pilot_times": "[0, 1]"},
            {"times": "[0]", "group_symbols": "3"},
            {"times": "[0]", "pilot_times": "[0, 1, 3, 2]"},
            {"tones": "3", "tone_numbers": "[1, 2]"},
            {"tones": "3", "tone_numbers": "[1, 3, 2]"},
        ],
    ),
    "cudaphy_mimo_receiver": (
        [
            {"put_channel": "True", "put_layers": "True", "put_noise": "True"},
            {"constellation": "modulation", "packed": "True", "max_log": "False"},
            {
                "layers": "two",
                "pilots": "pattern",
                "pilot_symbols": "(2, 11)",
                "estimate": '"mmse"',
            },
            {
                "layers": "two",
                "pilots": "pilots",
                "pilot_symbols": "[0, 13]",
                "times": "list(range(1, 13))",
                "doppler": "0.01",
            },
            {"llr_type": '"float"', "method": '"zf"', "stop_crc": '"16"'},
            {"llr_type": '"float16"', "max_iterations": "5", "scale": "0.75"},
            {"data_beside_pilots": "False", "llr_steps": "8", "group_symbols": "2"},
        ],
        [
            {"receive_antennas": "3"},
            {"receive_antennas": "17"},
            {"layers": "two"},  # the pilots are of four
            {"tones": "63"},
            {"tones": "0"},
            {"symbols": "8"},
            {"symbols": "1025"},
            {"pilots": "pattern"},
            {"pilots": "None"},
            {"pilot_symbols": "[0, 1, 7]"},
            {"pilot_symbols": "[0, 1, 8, 7]"},
            {"pilot_symbols": "[-1, 0, 1, 2]"},
            {"constellation": '"qam17"'},
            {"code": "two"},
            {"estimate": '"best"'},
            {"estimate": '"mmse"', "delay_spread": "-0.1"},
            {"method": '"best"'},
            {"times": "[2, 3, 4]", "group_symbols": "2"},  # of ten symbols with data
            {"llr_type": '"int4"'},
            {"llr_steps": "65"},
            {"max_iterations": "0"},
            {"scale": "2"},
            {"stop_crc": '"8"'},
        ],
    ),
    "cudaphy_mimo_equalizer": (
        [
            {"receive_antennas": "16", "layers": "16"},
            {"receive_antennas": "1", "layers": "1", "method": "zf"},
            {"receive_antennas": "4", "layers": "two", "unbiased": "False"},
            {"symbols": "14", "tones": "600", "noise_input": "True"},
            {"noise_variance": "1e-30"},
            {"method": "mrc", "layers": "1"},
            {"method": "mmse_irc", "noise_input": "True"},
            {"method": "mmse_irc", "covariance_from": '"port"'},
            {"method": "mmse_irc", "covariance_from": '"message"'},
            {"channel_from": '"tag"', "route": '"inverse"'},
            {"channel_from": '"message"', "method": "zf"},
        ],
        [
            {"receive_antennas": "0"},
            {"receive_antennas": "17"},
            {"layers": "0"},
            {"layers": "5"},
            {"symbols": "0"},
            {"symbols": "65537"},
            {"tones": "0"},
            {"tones": "65537"},
            {"method": "best"},
            {"noise_variance": "0"},
            {"noise_variance": "-0.1"},
            {"noise_variance": 'float("inf")'},
            {"noise_variance": 'float("nan")'},
            {"channel_from": '"air"'},
            {"covariance_from": '"port"'},
            {
                "method": "mmse_irc",
                "covariance_from": '"port"',
                "noise_input": "True",
            },
            {"method": "mrc", "route": '"inverse"'},
            {"route": '"best"'},
        ],
    ),
    "cudaphy_soft_demapper": (
        [{"constellation": f'"{name}"'} for name in cudaphy.constellation_names()]
        + [
            {"constellation": "modulation", "llr_positive": "1", "max_log": "False"},
            {"vlen": "16", "noise_input": "True"},
            {"vlen": "65536", "max_batch": "2"},
        ],
        [
            {"constellation": "qam17"},
            {"vlen": "0"},
            {"vlen": "65537"},
            {"llr_positive": "2"},
            {"noise_variance": "0"},
            {"noise_variance": 'float("nan")'},
        ],
    ),
    "cudaphy_ldpc_encoder": ([], [{"code": "None"}, {"code": "two"}]),
    "cudaphy_ldpc_decoder": (
        [
            {"max_iterations": "1", "scale": "1"},
            {"max_iterations": "1000", "early_stop": "False"},
            {"output": "codeword", "on_failure": "drop", "llr_positive": "1"},
        ],
        [
            {"code": "None"},
            {"max_iterations": "0"},
            {"max_iterations": "1001"},
            {"scale": "-0.1"},
            {"scale": "1.1"},
            {"output": "all"},
            {"on_failure": "ignore"},
            {"llr_positive": "-1"},
        ],
    ),
}
