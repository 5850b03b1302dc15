/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE ldpc_code_files_damaged
#include "kernels/common/testing.h"
#include "kernels/ldpc/codes/words_testing.h"
#include <chrono>
#include <sstream>

// A damaged file gives a code or an error in little time, and never a crash. Run this
// test with the sanitizers of the preset "debug" too.

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

//! Random numbers that are the same on every machine, because the engine alone makes
//! them.
class dice
{
public:
    explicit dice(unsigned seed) : d_engine(seed) {}
    size_t below(size_t n) { return d_engine() % n; }

private:
    std::mt19937 d_engine;
};

//! Where the words of a text begin and end (behind the last letter).
std::vector<std::pair<size_t, size_t>> words_of(const std::string& text)
{
    std::vector<std::pair<size_t, size_t>> words;
    for (size_t at = 0; at < text.size();) {
        const size_t first = text.find_first_not_of(" \r\n\t", at);
        if (first == text.npos) {
            break;
        }
        at = std::min(text.find_first_of(" \r\n\t", first), text.size());
        words.push_back({ first, at });
    }
    return words;
}

//! One to three changes: of bytes, of words, of the end.
std::string damaged(std::string text, dice& roll)
{
    static const std::string bytes("0123456789 -/\n\r\t#.x\xff\0", 21);
    static const char* const others[] = {
        "-1",         "0",         "1",   "2",   "7",
        "40",         "1048576",   "1e3", "0x2", "99999999999999999999",
        "punctured",  "shortened", "0-3", "-",   "3/1",
        "1/1",        "/",         "2-1", "+1",  "-9223372036854775808",
        "4294967296", // 2^32
        "visited"
    };
    for (size_t changes = 1 + roll.below(3); changes > 0 && !text.empty(); --changes) {
        const size_t at = roll.below(text.size());
        const char byte = bytes[roll.below(bytes.size())];
        const auto words = words_of(text);
        switch (roll.below(8)) {
        case 0:
            text.resize(at);
            break;
        case 1:
            text.insert(at, 1, byte);
            break;
        case 2:
            text.erase(at, 1 + roll.below(3));
            break;
        case 3:
            text[at] = byte;
            break;
        case 4: { // repeats a piece
            const size_t from = roll.below(text.size());
            text.insert(at, text.substr(from, roll.below(16)));
            break;
        }
        default: // replaces a word
            if (!words.empty()) {
                const auto [first, end] = words[roll.below(words.size())];
                text.replace(first, end - first, others[roll.below(std::size(others))]);
            }
        }
    }
    return text;
}

struct counts {
    int codes = 0, errors = 0;
};

//! Reads damaged copies of `text`. A copy that is read must be a valid code, and equal to
//! the code in the file that it writes.
template <typename Parse, typename Write>
counts
read_damaged(const std::string& text, int copies, dice& roll, Parse parse, Write write)
{
    counts found;
    for (int i = 0; i < copies; ++i) {
        std::istringstream file(damaged(text, roll));
        BOOST_TEST_CONTEXT("\n" << file.str() << "\n")
        {
            ldpc_code::sptr code;
            try {
                code = parse(file, "test.file");
            } catch (const code_file_error& problem) {
                BOOST_REQUIRE(std::string(problem.what()).find("test.file:") == 0);
                ++found.errors;
                continue;
            }
            ++found.codes;
            BOOST_REQUIRE(code->k() > 0 && code->n() > 0);
            BOOST_REQUIRE(code->k() <= code->variables());
            BOOST_REQUIRE(size_t(code->variables()) == code->n() +
                                                           code->punctured().size() +
                                                           code->shortened().size());
            BOOST_REQUIRE(
                code->is_codeword(std::vector<uint8_t>(code->variables()).data()));
            std::stringstream written;
            write(*code, written);
            const auto again = parse(written, "test.file");
            BOOST_REQUIRE(again->columns() == code->columns());
            BOOST_REQUIRE(again->row_start() == code->row_start());
            BOOST_REQUIRE(again->punctured() == code->punctured());
            BOOST_REQUIRE(again->shortened() == code->shortened());
            BOOST_REQUIRE((again->layers() == code->layers()));
            if (code->n() <= 100) { // the encoder works
                const auto sent = random_codewords(code, 1, generator());
                BOOST_REQUIRE(sent.size() == size_t(code->n()));
            }
        }
    }
    return found;
}

const char* const prototype = "6 3 4 # a comment\r\n"
                              "0 2 -1 1 0 -1\n"
                              "3 -1 1/2 -1 0 0\n"
                              "-1 1 0/1/3 0 -1 0\n"
                              "punctured 0-3\n"
                              "shortened 11 8\n"
                              "visited 2 0-1\n";

} // namespace

BOOST_AUTO_TEST_CASE(damaged_files_give_a_code_or_an_error_in_little_time)
{
    const auto start = std::chrono::steady_clock::now();
    dice roll(20260801);
    const auto parse_qc = [](std::istream& text, const char* name) {
        return ldpc_code::parse_qc(text, name);
    };
    const auto parse_alist = [](std::istream& text, const char* name) {
        return ldpc_code::parse_alist(text, name);
    };
    const auto to_qc = [](const ldpc_code& code, std::ostream& text) {
        code.to_qc(text);
    };
    const auto to_alist = [](const ldpc_code& code, std::ostream& text) {
        code.to_alist(text);
    };
    std::istringstream file(prototype);
    const auto small = ldpc_code::parse_qc(file, "prototype");
    std::ostringstream alist, wifi;
    small->to_alist(alist);
    ldpc_code::wifi(648, "5/6")->to_qc(wifi);

    counts all;
    for (const auto& [codes, errors] :
         { read_damaged(prototype, 6000, roll, parse_qc, to_qc),
           read_damaged(wifi.str(), 1000, roll, parse_qc, to_qc),
           read_damaged(alist.str(), 6000, roll, parse_alist, to_alist) }) {
        BOOST_TEST(codes > 50);
        BOOST_TEST(errors > 500);
        all.codes += codes;
        all.errors += errors;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    BOOST_TEST_MESSAGE(all.codes << " codes, " << all.errors << " errors in "
                                 << took.count() << " s");
    BOOST_TEST(took.count() < 60); // 5 s where nothing slows it down
}

BOOST_AUTO_TEST_CASE(every_beginning_of_a_file_gives_a_code_or_an_error)
{
    const std::string text = prototype;
    for (size_t length = 0; length < text.size(); ++length) {
        std::istringstream file(text.substr(0, length));
        try {
            BOOST_TEST(ldpc_code::parse_qc(file, "test.file")->variables() == 24);
            BOOST_TEST(length > text.find("punctured") - 2);
        } catch (const code_file_error&) {
        }
    }
}
