/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench/records.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <errno.h> // program_invocation_short_name
#include <fstream>
#include <gnuradio/cudaphy/kernels/backend.h>
#include <stdexcept>
#include <utility>
#include <vector>

namespace gr::cudaphy::benchmarks {

namespace {

std::string quoted(const std::string& text)
{
    std::string out = "\"";
    for (const char each : text) {
        if (each == '"' || each == '\\') {
            out += '\\';
        }
        out += static_cast<unsigned char>(each) < ' ' ? ' ' : each;
    }
    return out + '"';
}

std::string number(double value)
{
    if (!std::isfinite(value)) {
        return "null";
    }
    char text[32];
    std::snprintf(text, sizeof(text), "%.6g", value);
    return text;
}

std::string environment(const char* name)
{
    const char* const value = std::getenv(name);
    return value ? value : "";
}

std::string today()
{
    const std::time_t now = std::time(nullptr);
    char text[16];
    std::strftime(text, sizeof(text), "%Y-%m-%d", std::gmtime(&now));
    return text;
}

//! What follows `head` and a separator in the first such line of a file of the kernel.
std::string line_after(const char* path, const std::string& head)
{
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (line.rfind(head, 0) == 0) {
            const auto from = line.find_first_not_of(" \t:", head.size());
            return from == std::string::npos ? "" : line.substr(from);
        }
    }
    return "";
}

//! "580.95.05" of "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  ...".
std::string driver()
{
    const auto line = line_after("/proc/driver/nvidia/version", "NVRM version");
    const auto end = line.find("  ");
    const auto from = end == std::string::npos ? end : line.find_first_not_of(' ', end);
    return from == std::string::npos ? ""
                                     : line.substr(from, line.find(' ', from) - from);
}

std::string gpus()
{
    std::string all;
    for (const auto& device : devices()) {
        all += (all.empty() ? "" : ", ") + device.name;
    }
    return all;
}

using members = std::vector<std::pair<const char*, std::string>>;

std::string object(const members& all)
{
    std::string out;
    for (const auto& [name, value] : all) {
        out += (out.empty() ? "{" : ", ") + quoted(name) + ": " + value;
    }
    return out + "}";
}

//! Once a program: to name the GPUs starts CUDA.
const std::string& machine()
{
    static const std::string all =
        object({ { "cpu", quoted(line_after("/proc/cpuinfo", "model name")) },
                 { "gpu", quoted(gpus()) },
                 { "driver", quoted(driver()) },
                 { "cuda", quoted(cuda_version()) } });
    return all;
}

} // namespace

std::string cuda_version()
{
#ifdef CUDAPHY_CUDA_VERSION
    return "CUDA " CUDAPHY_CUDA_VERSION;
#else
    return "";
#endif
}

void record(const figure& measured)
{
    const auto path = environment("CUDAPHY_BENCH_JSON");
    if (path.empty()) {
        return;
    }
    std::ofstream file(path, std::ios::app);
    file << object({ { "kernel", quoted(measured.kernel) },
                     { "case", quoted(measured.what) },
                     { "ours", number(measured.ours) },
                     { "unit", quoted(measured.unit) },
                     { "peer", number(measured.peer.value) },
                     { "peer_name", quoted(measured.peer.name) },
                     { "peer_version", quoted(measured.peer.version) },
                     { "bound", number(measured.bound.value) },
                     { "bound_of", quoted(measured.bound.name) },
                     { "machine", machine() },
                     { "date", quoted(today()) },
                     { "commit", quoted(environment("CUDAPHY_BENCH_COMMIT")) },
                     { "program", quoted(program_invocation_short_name) } })
         << '\n';
    if (!file.flush()) {
        throw std::runtime_error("CUDAPHY_BENCH_JSON: " + path + " cannot be written");
    }
}

} // namespace gr::cudaphy::benchmarks
