/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdio>
#include <string>

namespace gr::cudaphy::kernels {

//! A program in PTX that grows line by line, and its registers.
class ptx_writer
{
protected:
    using name = std::string; //!< of a register, predicate or label

    //! A line; operands where the format says %s (names), %d or %x.
    template <typename... Operand>
    void say(const char* format, const Operand&... operands)
    {
        d_text += line(format, operands...);
        d_text += '\n';
    }
    //! A new 32-bit register with the result of "operation result, operands".
    template <typename... Operand>
    name b32(const char* operation, const char* format, const Operand&... operands)
    {
        const name result = r();
        say("%s %s, %s;", operation, result, line(format, operands...));
        return result;
    }

    name r() { return "%r" + std::to_string(d_r++); } //!< 32 bits
    name d() { return "%d" + std::to_string(d_d++); } //!< 64
    name f() { return "%f" + std::to_string(d_f++); } //!< float
    name h() { return "%h" + std::to_string(d_h++); } //!< 16 bits
    name p() { return "%p" + std::to_string(d_p++); } //!< predicate
    name label() { return "L" + std::to_string(d_label++); }

    //! The declarations of all registers so far, and the text.
    std::string declared_text() const
    {
        std::string out;
        const auto declare = [&out](const char* type, char letter, int count) {
            out += std::string(".reg .") + type + " %" + letter + '<' +
                   std::to_string(count + 1) + ">;\n";
        };
        declare("b32", 'r', d_r);
        declare("b64", 'd', d_d);
        declare("f32", 'f', d_f);
        declare("b16", 'h', d_h);
        declare("pred", 'p', d_p);
        return out + d_text;
    }

private:
    static const char* plain(const std::string& text) { return text.c_str(); }
    static const char* plain(const char* text) { return text; }
    static int plain(int number) { return number; }
    static unsigned plain(unsigned number) { return number; }

    template <typename... Operand>
    static std::string line(const char* format, const Operand&... operands)
    {
        char text[512];
        std::snprintf(text, sizeof text, format, plain(operands)...);
        return text;
    }
    static std::string line(const char* format) { return line("%s", format); }

    std::string d_text;
    int d_r = 0, d_d = 0, d_f = 0, d_h = 0, d_p = 0, d_label = 0;
};

} // namespace gr::cudaphy::kernels
