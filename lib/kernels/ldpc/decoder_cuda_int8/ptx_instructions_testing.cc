/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/ldpc/decoder/fixed_point.h"
#include "kernels/ldpc/decoder_cuda_int8/ptx_machine_testing.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <sstream>
#include <stdexcept>

namespace gr::cudaphy::testing {

using kernels::to_float16;

namespace {

using thread = ptx_machine::thread;
using instruction = ptx_machine::instruction;

[[noreturn]] void complain(const std::string& what)
{
    throw std::logic_error("ptx: " + what);
}

const std::vector<float> halves_as_floats = [] {
    std::vector<float> table(65536);
    for (uint32_t i = 0; i < table.size(); ++i) {
        table[i] = kernels::from_float16(static_cast<uint16_t>(i));
    }
    return table;
}();

float from_half(uint32_t half) { return halves_as_floats[half & 0xffff]; }

//! Applies an operation to each half. Rounding a sum or product first to float and then
//! to binary16 is the same as rounding it once, because float has 24 >= 2 * 11 + 2 bits.
template <typename Each>
uint32_t on_halves(uint32_t a, uint32_t b, Each each)
{
    const uint32_t low = to_float16(each(from_half(a), from_half(b)));
    const uint32_t high = to_float16(each(from_half(a >> 16), from_half(b >> 16)));
    return low | high << 16;
}
uint32_t multiplied_and_added(uint32_t a, uint32_t b, uint32_t c)
{
    const double exact = static_cast<double>(from_half(a)) * from_half(b) +
                         static_cast<double>(from_half(c));
    const float once = static_cast<float>(exact);
    if (once != exact) {
        complain("a fused multiply-add that float does not hold");
    }
    return to_float16(once);
}
uint32_t permuted(uint32_t a, uint32_t b, uint32_t selector)
{
    const uint64_t all = a | static_cast<uint64_t>(b) << 32;
    uint32_t out = 0;
    for (int i = 0; i < 4; ++i) {
        out |= static_cast<uint32_t>(all >> (8 * (selector >> (4 * i) & 7)) & 0xff)
               << (8 * i);
    }
    return out;
}
uint32_t reversed(uint32_t value)
{
    uint32_t out = 0;
    for (int i = 0; i < 32; ++i) {
        out |= (value >> i & 1) << (31 - i);
    }
    return out;
}

std::vector<std::string> pieces(std::string text)
{
    for (char& c : text) {
        c = std::strchr(",;[]{}|+", c) ? ' ' : c;
    }
    std::istringstream in(text);
    std::vector<std::string> out;
    for (std::string piece; in >> piece;) {
        out.push_back(piece);
    }
    return out;
}

} // namespace

//! Appends an instruction. Returns the label that it branches to.
std::string ptx_machine::decode(const std::string& line)
{
    instruction one;
    one.text = line;
    auto words = pieces(line);
    if (words[0][0] == '@') {
        one.guarded_by = words[0][1] != '!';
        one.guard = std::stoi(words[0].substr(one.guarded_by ? 3 : 4));
        words.erase(words.begin());
    }
    const std::string operation = words[0];
    std::string target;
    for (size_t i = 1; i < words.size() && operation != "bra"; ++i) {
        auto& to = one.on.at(i - 1);
        const auto& word = words[i];
        if (word[0] == '%' && register_kinds.find(word[1]) != register_kinds.npos &&
            std::isdigit(word[2])) {
            to.kind = word[1];
            to.index = std::stoi(word.substr(2));
        } else {
            to.kind = 'n';
            to.number = word == "%tid.x"      ? 1
                        : word == "%ctaid.x"  ? 2
                        : word == "memory"    ? 1024 // as on Hopper
                        : word == "arguments" ? 0
                        : word.compare(0, 2, "0f") == 0
                            ? std::stoul(word.substr(2), nullptr, 16)
                            : static_cast<uint64_t>(std::stoll(word, nullptr, 0));
            if (word[0] == '%') {
                to.kind = 's';
            }
        }
    }
    if (operation == "bra") {
        target = words[1];
        one.execute = [](const instruction& i, thread& t) { t.at = i.target - 1; };
    } else if (operation == "ret" || operation == "exit") {
        one.execute = [](const instruction&, thread& t) { t.now = state::done; };
    } else if (operation.compare(0, 3, "bar") == 0) {
        one.execute = [](const instruction&, thread& t) { t.now = state::waits; };
    } else if (operation.compare(0, 4, "vote") == 0 ||
               operation.compare(0, 5, "redux") == 0) {
        one.execute = [](const instruction&, thread& t) { t.now = state::votes; };
    } else if (operation == "membar.gl") {
        one.execute = [](const instruction&, thread&) {};
    } else if (operation.compare(0, 4, "setp") == 0) {
        decode_set(one, operation);
    } else if (!decode_memory(one, operation) && !decode_numbers(one, operation) &&
               !decode_halves(one, operation) && !decode_predicates(one, operation)) {
        complain("unknown: " + line);
    }
    d_code.push_back(std::move(one));
    return target;
}

bool ptx_machine::decode_memory(instruction& one, const std::string& operation)
{
    const auto is = [&](const char* part) {
        return operation.find(part) != std::string::npos;
    };
    const unsigned bytes = is("64") ? 8 : is("32") ? 4 : is("16") ? 2 : 1;
    if (is("ld.param")) {
        one.execute = [this, bytes](const instruction& i, thread& t) {
            uint64_t value = 0;
            std::memcpy(&value,
                        static_cast<const char*>(d_how->arguments) + i.on[2].number,
                        bytes);
            t.set(i.on[0], value);
        };
    } else if (is("ld.global")) {
        one.execute = [bytes](const instruction& i, thread& t) {
            uint64_t value = 0;
            std::memcpy(&value,
                        reinterpret_cast<const void*>(t.get(i.on[1]) + i.on[2].number),
                        bytes);
            t.set(i.on[0], value);
        };
    } else if (is("st.global")) {
        const bool offset = one.on[2].kind != 0;
        one.execute = [bytes, offset](const instruction& i, thread& t) {
            const uint64_t value = t.get(i.on[offset ? 2 : 1]);
            std::memcpy(
                reinterpret_cast<void*>(t.get(i.on[0]) + (offset ? i.on[1].number : 0)),
                &value,
                bytes);
        };
    } else if (is("ld.shared")) {
        one.execute = [this, bytes](const instruction& i, thread& t) {
            uint64_t value = 0;
            const uint32_t at = t.u(i.on[1]) + static_cast<uint32_t>(i.on[2].number);
            std::memcpy(&value, shared(t, at, bytes, access::read), bytes);
            t.set(i.on[0], value);
        };
    } else if (is("st.shared") || is("red.shared")) {
        const bool offset = one.on[2].kind != 0;
        const char how = is(".or.") ? 'o' : is(".xor.") ? 'x' : '=';
        one.execute = [this, bytes, offset, how](const instruction& i, thread& t) {
            const uint64_t value = t.get(i.on[offset ? 2 : 1]);
            const uint32_t at =
                t.u(i.on[0]) + static_cast<uint32_t>(offset ? i.on[1].number : 0);
            if (how == '=') {
                std::memcpy(shared(t, at, bytes, access::write), &value, bytes);
                return;
            }
            uint8_t* const word = shared(t, at, 4, access::atomic);
            uint32_t now;
            std::memcpy(&now, word, 4);
            now = how == 'o' ? now | static_cast<uint32_t>(value)
                             : now ^ static_cast<uint32_t>(value);
            std::memcpy(word, &now, 4);
        };
    } else if (is("atom.global.cas") || is("atom.global.exch")) {
        const bool compares = is("cas");
        one.execute = [compares](const instruction& i, thread& t) {
            auto* at = reinterpret_cast<uint32_t*>(t.get(i.on[1]));
            const uint32_t before = *at;
            if (!compares || before == t.u(i.on[2])) {
                *at = t.u(i.on[compares ? 3 : 2]);
            }
            t.set(i.on[0], before);
        };
    } else {
        return false;
    }
    return true;
}

bool ptx_machine::decode_numbers(instruction& one, const std::string& operation)
{
    using function = std::function<uint32_t(uint32_t, uint32_t, uint32_t)>;
    static const std::map<std::string, function> integers{
        { "add.u32", [](auto a, auto b, auto) { return a + b; } },
        { "sub.u32", [](auto a, auto b, auto) { return a - b; } },
        { "mul.lo.u32", [](auto a, auto b, auto) { return a * b; } },
        { "mad.lo.u32", [](auto a, auto b, auto c) { return a * b + c; } },
        { "div.u32", [](auto a, auto b, auto) { return a / b; } },
        { "rem.u32", [](auto a, auto b, auto) { return a % b; } },
        { "min.u32", [](auto a, auto b, auto) { return std::min(a, b); } },
        { "max.s32",
          [](auto a, auto b, auto) {
              return static_cast<uint32_t>(
                  std::max(static_cast<int32_t>(a), static_cast<int32_t>(b)));
          } },
        { "and.b32", [](auto a, auto b, auto) { return a & b; } },
        { "or.b32", [](auto a, auto b, auto) { return a | b; } },
        { "xor.b32", [](auto a, auto b, auto) { return a ^ b; } },
        { "not.b32", [](auto a, auto, auto) { return ~a; } },
        { "shl.b32", [](auto a, auto b, auto) { return b > 31 ? 0 : a << b; } },
        { "shr.u32", [](auto a, auto b, auto) { return b > 31 ? 0 : a >> b; } },
        { "shr.s32",
          [](auto a, auto b, auto) {
              return static_cast<uint32_t>(static_cast<int32_t>(a) >> std::min(b, 31u));
          } },
        { "bfe.u32",
          [](auto a, auto b, auto c) { return b > 31 ? 0 : a >> b & ((1u << c) - 1); } },
        { "brev.b32", [](auto a, auto, auto) { return reversed(a); } },
        { "prmt.b32", permuted },
    };
    const auto integer = integers.find(operation);
    if (integer != integers.end()) {
        one.execute = [f = integer->second](const instruction& i, thread& t) {
            t.set(i.on[0],
                  f(t.u(i.on[1]),
                    i.on[2].kind ? t.u(i.on[2]) : 0,
                    i.on[3].kind ? t.u(i.on[3]) : 0));
        };
        return true;
    }
    if (operation.compare(0, 4, "mov.") == 0) {
        const int pair = one.on[2].kind == 0 ? 0 : one.on[0].kind == 'r' ? 1 : 2;
        one.execute = [this, pair](const instruction& i, thread& t) {
            if (i.on[1].kind == 's') {
                t.set(i.on[0], i.on[1].number == 1 ? t.number : d_block);
            } else if (pair == 1) {
                t.set(i.on[0], t.get(i.on[1]) | t.get(i.on[2]) << 16);
            } else if (pair == 2) {
                t.set(i.on[0], t.get(i.on[2]) & 0xffff);
                t.set(i.on[1], t.get(i.on[2]) >> 16 & 0xffff);
            } else {
                t.set(i.on[0], t.get(i.on[1]));
            }
        };
    } else if (operation == "mad.wide.u32" || operation == "mad.wide.s32") {
        const bool has_sign = operation.back() == '2' && operation[9] == 's';
        one.execute = [has_sign](const instruction& i, thread& t) {
            const uint64_t product =
                has_sign ? static_cast<uint64_t>(int64_t(t.s(i.on[1])) * t.s(i.on[2]))
                         : uint64_t(t.u(i.on[1])) * t.u(i.on[2]);
            t.set(i.on[0], product + t.get(i.on[3]));
        };
    } else if (operation == "add.u64") {
        one.execute = [](const instruction& i, thread& t) {
            t.set(i.on[0], t.get(i.on[1]) + t.get(i.on[2]));
        };
    } else if (operation.compare(0, 4, "selp") == 0) {
        one.execute = [](const instruction& i, thread& t) {
            t.set(i.on[0], t.get(i.on[t.get(i.on[3]) ? 1 : 2]));
        };
    } else {
        return false;
    }
    return true;
}

bool ptx_machine::decode_halves(instruction& one, const std::string& operation)
{
    using halves = std::function<uint32_t(uint32_t, uint32_t)>;
    static const std::map<std::string, halves> pairs{
        { "sub.rn.f16x2",
          [](auto a, auto b) {
              return on_halves(a, b, [](float x, float y) { return x - y; });
          } },
        { "add.rn.sat.f16x2",
          [](auto a, auto b) {
              return on_halves(a, b, [](float x, float y) {
                  return std::min(1.0f, std::max(0.0f, x + y));
              });
          } },
        { "mul.rn.f16x2",
          [](auto a, auto b) {
              return on_halves(a, b, [](float x, float y) { return x * y; });
          } },
        { "set.lt.f16x2.f16x2",
          [](auto a, auto b) {
              return on_halves(a, b, [](float x, float y) { return x < y ? 1.0f : 0; });
          } },
        { "min.f16x2",
          [](auto a, auto b) {
              return on_halves(a, b, [](float x, float y) { return std::min(x, y); });
          } },
        { "max.f16x2",
          [](auto a, auto b) {
              return on_halves(a, b, [](float x, float y) { return std::max(x, y); });
          } },
        { "min.xorsign.abs.f16x2",
          [](auto a, auto b) {
              const uint32_t low = std::min(a & 0x7fff, b & 0x7fff);
              const uint32_t high = std::min(a >> 16 & 0x7fff, b >> 16 & 0x7fff);
              return low | high << 16 | ((a ^ b) & 0x80008000u);
          } },
        { "max.xorsign.abs.f16x2",
          [](auto a, auto b) {
              const uint32_t low = std::max(a & 0x7fff, b & 0x7fff);
              const uint32_t high = std::max(a >> 16 & 0x7fff, b >> 16 & 0x7fff);
              return low | high << 16 | ((a ^ b) & 0x80008000u);
          } },
    };
    using reals = std::function<float(float, float, float)>;
    static const std::map<std::string, reals> floats{
        { "mul.rn.f32", [](float a, float b, float) { return a * b; } },
        { "div.rn.f32", [](float a, float b, float) { return a / b; } },
        { "min.f32", [](float a, float b, float) { return std::fmin(a, b); } },
        { "max.f32", [](float a, float b, float) { return std::fmax(a, b); } },
        { "fma.rn.f32", [](float a, float b, float c) { return std::fma(a, b, c); } },
        { "cvt.rni.f32.f32", [](float a, float, float) { return std::nearbyint(a); } },
    };
    const auto pair = pairs.find(operation);
    const auto real = floats.find(operation);
    if (pair != pairs.end()) {
        one.execute = [f = pair->second](const instruction& i, thread& t) {
            t.set(i.on[0], f(t.u(i.on[1]), t.u(i.on[2])));
        };
    } else if (real != floats.end()) {
        one.execute = [f = real->second](const instruction& i, thread& t) {
            t.set_real(i.on[0],
                       f(t.real(i.on[1]),
                         i.on[2].kind ? t.real(i.on[2]) : 0,
                         i.on[3].kind ? t.real(i.on[3]) : 0));
        };
    } else if (operation == "fma.rn.f16x2") {
        one.execute = [](const instruction& i, thread& t) {
            const uint32_t a = t.u(i.on[1]), b = t.u(i.on[2]), c = t.u(i.on[3]);
            t.set(i.on[0],
                  multiplied_and_added(a, b, c) |
                      multiplied_and_added(a >> 16, b >> 16, c >> 16) << 16);
        };
    } else if (operation == "cvt.f32.f16") {
        one.execute = [](const instruction& i, thread& t) {
            t.set_real(i.on[0], from_half(t.u(i.on[1])));
        };
    } else if (operation == "cvt.rn.f16.f32") {
        one.execute = [](const instruction& i, thread& t) {
            t.set(i.on[0], to_float16(t.real(i.on[1])));
        };
    } else {
        return false;
    }
    return true;
}

bool ptx_machine::decode_predicates(instruction& one, const std::string& operation)
{
    if (operation == "and.pred" || operation == "or.pred") {
        const bool is_and = operation[0] == 'a';
        one.execute = [is_and](const instruction& i, thread& t) {
            const bool a = t.get(i.on[1]), b = t.get(i.on[2]);
            t.set(i.on[0], is_and ? a && b : a || b);
        };
    } else if (operation == "not.pred") {
        one.execute = [](const instruction& i, thread& t) {
            t.set(i.on[0], !t.get(i.on[1]));
        };
    } else {
        return false;
    }
    return true;
}

void ptx_machine::decode_set(instruction& one, const std::string& operation)
{
    const std::string how =
        operation.substr(5, operation.compare(5, 3, "num") == 0 ? 3 : 2);
    const bool joins = operation.find(".and.") != std::string::npos;
    const std::string type = operation.substr(operation.rfind('.') + 1);
    if (how != "lt" && how != "ge" && how != "eq" && how != "ne" && how != "num") {
        complain("unknown: " + one.text);
    }
    const auto holds = [how](auto a, auto b) {
        return how == "lt" ? a < b : how == "ge" ? a >= b : (a == b) == (how == "eq");
    };
    if (type == "f16x2") {
        one.execute = [holds](const instruction& i, thread& t) {
            const uint32_t a = t.u(i.on[2]), b = t.u(i.on[3]);
            t.set(i.on[0], holds(from_half(a), from_half(b)));
            t.set(i.on[1], holds(from_half(a >> 16), from_half(b >> 16)));
        };
    } else if (type == "f32") {
        one.execute = [](const instruction& i, thread& t) { // num
            t.set(i.on[0], !std::isnan(t.real(i.on[1])) && !std::isnan(t.real(i.on[2])));
        };
    } else if (type == "s32") {
        one.execute = [holds](const instruction& i, thread& t) {
            t.set(i.on[0], holds(t.s(i.on[1]), t.s(i.on[2])));
        };
    } else {
        const bool wide = type == "u64";
        one.execute = [holds, joins, wide](const instruction& i, thread& t) {
            const bool holds_true = wide ? holds(t.get(i.on[1]), t.get(i.on[2]))
                                         : holds(t.u(i.on[1]), t.u(i.on[2]));
            t.set(i.on[0], holds_true && (!joins || t.get(i.on[3])));
        };
    }
}

} // namespace gr::cudaphy::testing
