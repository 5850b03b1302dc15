/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cstdio>
#include <string>

namespace gr::cudaphy::kernels {

//! Counts the names of registers and labels of each kind in a program.
struct ptx_names {
    int r = 0, d = 0, f = 0, h = 0, p = 0, labels = 0;

    std::string declarations() const
    {
        std::string out;
        const auto declare = [&out](const char* type, char letter, int count) {
            out += std::string(".reg .") + type + " %" + letter + '<' +
                   std::to_string(count + 1) + ">;\n";
        };
        declare("b32", 'r', r);
        declare("b64", 'd', d);
        declare("f32", 'f', f);
        declare("b16", 'h', h);
        declare("pred", 'p', p);
        return out;
    }
};

//! Writes a PTX program, or a part of one, line by line.
class ptx_writer
{
protected:
    //! All parts of a program count its names together.
    explicit ptx_writer(ptx_names& names) : d_names(names) {}

    using name = std::string; //!< of a register, predicate or label

    //! Appends a line. The format takes %s for names, %d and %x for numbers.
    template <typename... Operand>
    void emit(const char* format, const Operand&... operands)
    {
        d_text += formatted(format, operands...);
        d_text += '\n';
    }
    //! Appends "operation result, operands"; returns the result, a new 32-bit register.
    template <typename... Operand>
    name b32(const char* operation, const char* format, const Operand&... operands)
    {
        const name result = r();
        emit("%s %s, %s;", operation, result, formatted(format, operands...));
        return result;
    }

    name r() { return "%r" + std::to_string(d_names.r++); } //!< 32 bits
    name d() { return "%d" + std::to_string(d_names.d++); } //!< 64
    name f() { return "%f" + std::to_string(d_names.f++); } //!< float
    name h() { return "%h" + std::to_string(d_names.h++); } //!< 16 bits
    name p() { return "%p" + std::to_string(d_names.p++); } //!< predicate
    name label() { return "L" + std::to_string(d_names.labels++); }

    //! The lines so far.
    const std::string& lines() const { return d_text; }

private:
    static const char* plain(const std::string& text) { return text.c_str(); }
    static const char* plain(const char* text) { return text; }
    static int plain(int number) { return number; }
    static unsigned plain(unsigned number) { return number; }

    template <typename... Operand>
    static std::string formatted(const char* format, const Operand&... operands)
    {
        char text[512];
        std::snprintf(text, sizeof text, format, plain(operands)...);
        return text;
    }
    static std::string formatted(const char* format) { return formatted("%s", format); }

    ptx_names& d_names;
    std::string d_text;
};

} // namespace gr::cudaphy::kernels
