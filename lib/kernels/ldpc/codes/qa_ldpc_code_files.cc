/* SPDX-License-Identifier: GPL-3.0-or-later */
#define BOOST_TEST_MODULE ldpc_code_files
#include "kernels/common/testing.h"
#include "kernels/ldpc/codes/words_testing.h"
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>

using namespace gr::cudaphy;
using namespace gr::cudaphy::kernels;
using namespace gr::cudaphy::testing;

namespace {

using rows = std::vector<std::vector<int>>;

ldpc_code::sptr alist(const std::string& text)
{
    std::istringstream stream(text);
    return ldpc_code::parse_alist(stream, "test.alist");
}

ldpc_code::sptr qc(const std::string& text)
{
    std::istringstream stream(text);
    return ldpc_code::parse_qc(stream, "test.qc");
}

//! The error's text, or "" without an error.
template <typename Parse>
std::string error_of(Parse parse, const std::string& text)
{
    try {
        parse(text);
    } catch (const code_file_error& problem) {
        return problem.what();
    }
    return "";
}

void same_matrix(const ldpc_code& a, const ldpc_code& b)
{
    BOOST_TEST(a.n() == b.n());
    BOOST_TEST(a.row_start() == b.row_start());
    BOOST_TEST(a.columns() == b.columns());
    BOOST_TEST(a.info_positions() == b.info_positions());
}

void write_lists(std::ostream& out, const rows& lists, bool padded, const char* line_end)
{
    size_t greatest = 0;
    for (const auto& list : lists) {
        greatest = std::max(greatest, list.size());
    }
    for (const auto& list : lists) {
        for (size_t i = 0; i < (padded ? greatest : list.size()); ++i) {
            out << (i < list.size() ? list[i] + 1 : 0) << ' ';
        }
        out << line_end;
    }
}

std::string as_alist(const ldpc_code& code, bool padded, const char* line_end = "\n")
{
    rows by_row(code.checks()), by_column(code.n());
    for (int r = 0; r < code.checks(); ++r) {
        for (int e = code.row_start()[r]; e < code.row_start()[r + 1]; ++e) {
            by_row[r].push_back(code.columns()[e]);
            by_column[code.columns()[e]].push_back(r);
        }
    }
    std::ostringstream out;
    out << code.n() << ' ' << code.checks() << line_end;
    for (const auto* lists : { &by_column, &by_row }) {
        const auto heaviest = std::max_element(
            lists->begin(), lists->end(), [](const auto& a, const auto& b) {
                return a.size() < b.size();
            });
        out << heaviest->size() << ' ';
    }
    out << line_end;
    for (const auto* lists : { &by_column, &by_row }) {
        for (const auto& list : *lists) {
            out << list.size() << ' ';
        }
        out << line_end;
    }
    write_lists(out, by_column, padded, line_end);
    write_lists(out, by_row, padded, line_end);
    return out.str();
}

//! The prototype read back from the matrix, where every block is zero or an identity.
std::string as_qc(const ldpc_code& code, int z)
{
    std::ostringstream out;
    out << code.n() / z << ' ' << code.checks() / z << ' ' << z << '\n';
    for (int r = 0; r < code.checks(); r += z) {
        std::vector<int> shifts(code.n() / z, -1);
        for (int e = code.row_start()[r]; e < code.row_start()[r + 1]; ++e) {
            shifts[code.columns()[e] / z] = code.columns()[e] % z;
        }
        for (const int shift : shifts) {
            out << shift << ' ';
        }
        out << '\n';
    }
    return out.str();
}

const char* const hamming_file = "7 3\n3 4\n3 2 2 2 1 1 1\n4 4 4\n"
                                 "1 2 3\n1 2\n1 3\n2 3\n1\n2\n3\n"
                                 "1 2 3 5\n1 2 4 6\n1 3 4 7\n";

} // namespace

BOOST_AUTO_TEST_CASE(alist_of_the_hamming_code)
{
    const auto code = alist(hamming_file);
    BOOST_TEST(code->name() == "test.alist");
    BOOST_TEST(code->n() == 7);
    BOOST_TEST(code->k() == 4);
    BOOST_TEST(code->edges() == 12);
    BOOST_TEST(code->columns() ==
               std::vector<int>({ 0, 1, 2, 4, 0, 1, 3, 5, 0, 2, 3, 6 }));
    BOOST_TEST(code->info_positions() == std::vector<int>({ 0, 1, 2, 3 }));
}

BOOST_AUTO_TEST_CASE(every_dialect_of_alist_gives_the_same_code)
{
    const auto code = ldpc_code::dvbs2("short", "4/5"); // columns of weight 1, 2 and 3
    for (const bool padded : { false, true }) {
        for (const char* line_end : { "\n", "\r\n", "  \t\n", "\n\n", " # end\n", " " }) {
            same_matrix(*alist(as_alist(*code, padded, line_end)), *code);
        }
    }
    same_matrix(*alist("# by hand\n" + as_alist(*code, true) + "\n \n0 0\n"), *code);
}

BOOST_AUTO_TEST_CASE(wifi_codes_come_back_from_alist_and_qc)
{
    for (const int n : { 648, 1296, 1944 }) {
        for (const auto rate : { "1/2", "2/3", "3/4", "5/6" }) {
            const auto code = ldpc_code::wifi(n, rate);
            same_matrix(*alist(as_alist(*code, n == 648)), *code);
            const auto again = qc("# " + code->name() + "\n" + as_qc(*code, n / 24));
            same_matrix(*again, *code);
            BOOST_TEST((again->layers() == code->layers()));
        }
    }
}

BOOST_AUTO_TEST_CASE(files_are_read_from_disk)
{
    const std::string path = "qa_ldpc_code_files.alist";
    std::ofstream(path) << hamming_file;
    BOOST_TEST(ldpc_code::from_alist(path)->k() == 4);
    BOOST_CHECK_THROW(ldpc_code::from_qc(path), code_file_error);
    std::remove(path.c_str());
    for (const auto missing : { "no/such/file", ".", "" }) {
        BOOST_CHECK_THROW(ldpc_code::from_alist(missing), code_file_error);
        BOOST_CHECK_THROW(ldpc_code::from_qc(missing), code_file_error);
    }
}

BOOST_AUTO_TEST_CASE(errors_name_the_file_the_line_and_what_was_expected)
{
    const auto has = [](const std::string& message,
                        const std::vector<const char*>& parts) {
        for (const auto part : parts) {
            BOOST_TEST(message.find(part) != std::string::npos,
                       "\"" << message << "\" lacks \"" << part << "\"");
        }
    };
    const auto changed = [](size_t line, const std::string& by) {
        std::istringstream in(hamming_file);
        std::string all, text;
        for (size_t i = 1; std::getline(in, text); ++i) {
            all += (i == line ? by : text) + "\n";
        }
        return all;
    };
    has(error_of(alist, ""), { "test.alist:1:", "number of columns", "end of the file" });
    has(error_of(alist, changed(1, "7 -3")), { "test.alist:1:", "rows", "\"-3\"" });
    has(error_of(alist, changed(1, "7 x")), { "test.alist:1:", "rows", "\"x\"" });
    has(error_of(alist, changed(1, "1000000000000 3")), { "test.alist:1:", "1048576" });
    has(error_of(alist, changed(1, "99999999999999999999 3")), { "test.alist:1:" });
    has(error_of(alist, changed(1, "1000000 3")), { "test.alist:1:", "bytes left" });
    has(error_of(alist, changed(2, "9 4")), { "test.alist:2:", "0 to 3", "\"9\"" });
    has(error_of(alist, changed(3, "9 2 2 2 1 1 1")),
        { "test.alist:3:", "weight of column 1", "\"9\"" });
    has(error_of(alist, changed(4, "4 4 3")), { "test.alist:4:", "11 and 12" });
    has(error_of(alist, changed(5, "1 2 8")),
        { "test.alist:5:", "rows of column 1", "\"8\"" });
    has(error_of(alist, changed(5, "1 2 2")), { "test.alist:5:", "column 1", "twice" });
    has(error_of(alist, changed(12, "1 2 3 4")),
        { "test.alist:12:", "columns of row 1", "agree" });
    has(error_of(alist, changed(14, "1 3 4")), { "row 3", "end of the file" });
    has(error_of(alist, changed(14, "1 3 4 7 5")), { "test.alist:14:", "\"5\"" });
    has(error_of(alist, "2 1\n1 1\n1 0\n1\n1\n\n"), { "end of the file" });
    // A square matrix of full rank leaves no information bits.
    has(error_of(alist, "1 1\n1 1\n1\n1\n1\n1\n"), { "test.alist", "information" });

    has(error_of(qc, ""), { "test.qc:1:", "block columns" });
    has(error_of(qc, "2 1 3 4\n0 1\n"), { "test.qc:1:", "three numbers" });
    has(error_of(qc, "2 1 3\n0\n1\n"), { "test.qc:2:", "block column 2", "line" });
    has(error_of(qc, "2 1 3\n0 1 2\n"), { "test.qc:2:", "2 shifts" });
    has(error_of(qc, "2 1 3\n0 3\n"), { "test.qc:2:", "-1 to 2", "\"3\"" });
    has(error_of(qc, "2 2 3\n0 1\n"), { "test.qc:3:", "end of the file" });
    has(error_of(qc, "2 2 3\n0 1\n-1 -1\n"), { "test.qc:3:", "block row 2" });
    has(error_of(qc, "2 1 3\n0 1\n2 2\n"), { "test.qc:3:" });
    has(error_of(qc, "2 1 1000000000000\n0 1\n"), { "test.qc:1:", "1048576" });
    has(error_of(qc, "2 2 1\n0 0\n0 -1\n"), { "test.qc: ", "information" });
    has(error_of(qc, "1000 1000000 1\n0 1\n"), { "test.qc:1:", "bytes left" });
    has(error_of(qc, "1000 1000 10\n0 1\n"), { "test.qc:1:", "bytes left" });
    has(error_of(qc, "2000 1 1000\n0 1\n"), { "test.qc:1:", "2000000" });
}

BOOST_AUTO_TEST_CASE(a_short_file_cannot_claim_much_memory)
{
    // 8 block columns of 2^17 bits: each line of 16 bytes stands for 2^20 ones.
    std::string text = "8 40 131072\n";
    for (int r = 0; r < 40; ++r) {
        text += "0 0 0 0 0 0 0 0\n";
    }
    const auto most = [](const std::string& file) {
        return std::to_string(4096 * file.size());
    };
    BOOST_TEST(error_of(qc, text).find(most(text) + " ones") != std::string::npos);
    const std::string blanks(1 << 13, ' ');
    BOOST_TEST(error_of(qc, text + blanks).find("16777216 ones") != std::string::npos);
    text = "4 1 32768\n0 0 0 0";
    BOOST_TEST(error_of(qc, text).find("at most " + most(text)) != std::string::npos);
    // Elimination of what no staircase solves.
    text = "4 3 200000\n0 0 0 1\n1 2 0 3\n0 1 5 7\n";
    BOOST_TEST(error_of(qc, text + blanks).find("2^31 bits") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_block_may_be_the_sum_of_several_identities)
{
    const auto code = qc("3 1 5\n0/3 1/0/4 2\n");
    BOOST_TEST(code->columns() ==
               std::vector<int>({ 0, 3, 5,  6, 9, 12, 1, 4, 5,  6, 7, 13, 0, 2, 6,
                                  7, 8, 14, 1, 3, 7,  8, 9, 10, 2, 4, 5,  8, 9, 11 }));
    const auto& blocks = code->circulants();
    BOOST_TEST(blocks.lifting_size == 5);
    BOOST_TEST(blocks.all.size() == 6u);
    BOOST_TEST(blocks.all[3].shift == 1);
    BOOST_TEST(blocks.all[3].column == 1);
    for (const auto& [entry, part] : { std::make_pair("3/3", "each shift once"),
                                       { "0/5", "-1 to 4" },
                                       { "0/-1", "-1 to 4" },
                                       { "-1/0", "-1 to 4" },
                                       { "/", "-1 to 4" },
                                       { "1/", "-1 to 4" },
                                       { "/1", "-1 to 4" },
                                       { "1//2", "-1 to 4" },
                                       { "1/ 2", "-1 to 4" } }) {
        const auto error =
            error_of(qc, std::string("3 1 5\n# a comment\n0 ") + entry + " 2\n");
        BOOST_TEST(
            error.find("test.qc:3: expected the shift of block row 1, block column 2") ==
                0u,
            error);
        BOOST_TEST(error.find(part) != std::string::npos, error);
    }
}

BOOST_AUTO_TEST_CASE(columns_that_are_not_sent_stand_behind_the_matrix)
{
    const std::string matrix = "4 2 3\n0 1/2 0 -1\n2 0 1 0\n";
    const std::string trailer =
        "shortened 5 # here, and on\n  2\n\npunctured 9-11 0\nshortened 4\n";
    const auto check = [](const ldpc_code& code) {
        BOOST_TEST(code.variables() == 12);
        BOOST_TEST(code.n() == 5);
        BOOST_TEST(code.punctured() == std::vector<int>({ 0, 9, 10, 11 }));
        BOOST_TEST(code.shortened() == std::vector<int>({ 2, 4, 5 }));
        BOOST_TEST(code.transmitted() == std::vector<int>({ 1, 3, 6, 7, 8 }));
        BOOST_TEST(code.k() == 3);
    };
    check(*qc(matrix + trailer));
    const auto plain = as_alist(*qc(matrix), true);
    check(*alist(plain + trailer));
    check(*alist(plain + "0 0#\n0\n" + trailer));
    for (const auto& [text, part] : { std::make_pair("sent 1", "\"sent\""),
                                      { "0 7", "\"punctured\" or \"shortened\"" },
                                      { "7", "\"punctured\" or \"shortened\"" },
                                      { "punctured", "columns behind \"punctured\"" },
                                      { "punctured\n1", "columns behind \"punctured\"" },
                                      { "punctured 12", "\"12\"" },
                                      { "punctured -1", "\"-1\"" },
                                      { "punctured 3-2", "\"3-2\"" },
                                      { "punctured 3-12", "\"3-12\"" },
                                      { "punctured 3-", "\"3-\"" },
                                      { "punctured 1-2-3", "\"1-2-3\"" },
                                      { "punctured 3--4", "\"3--4\"" },
                                      { "punctured 1,2", "\"1,2\"" },
                                      { "punctured 99999999999999999999", "up to 11" },
                                      { "punctured 1 2 1", "found 1 twice" },
                                      { "punctured 1 shortened 0-3", "found 1 twice" },
                                      { "punctured 0-5 shortened 6-11", "neither" } }) {
        const auto error = error_of(qc, matrix + "# comment\n" + text);
        BOOST_TEST(error.find("test.qc:5: expected ") == 0u, error);
        BOOST_TEST(error.find(part) != std::string::npos, error);
        // An alist may continue with zeros, so that these are no error.
        const bool zeros = std::string(text).find("0 7") == 0;
        const auto other = error_of(alist, plain + (zeros ? text + 2 : text));
        BOOST_TEST(other.find("test.alist:23: expected ") == 0u, other);
        BOOST_TEST(other.find(part) != std::string::npos, other);
    }
    // All information bits are shortened.
    BOOST_TEST(error_of(qc, matrix + "shortened 0-7").find("test.qc: ") == 0u);
}

BOOST_AUTO_TEST_CASE(block_rows_are_visited_in_the_order_that_a_file_names)
{
    const std::string matrix = "5 3 2\n0 1 0 -1 -1\n1 0 -1 0 -1\n0 -1 1 1 0\n";
    const auto plain = qc(matrix);
    const auto code =
        qc(matrix + "visited 2 # last one first\npunctured 0\nvisited 0-1\n");
    BOOST_TEST(code->columns() == plain->columns()); // H stays as it is
    const std::vector<std::vector<int>> order{ { 4, 5 }, { 0, 1 }, { 2, 3 } };
    BOOST_TEST((code->layers() == order));
    BOOST_TEST(code->circulants().checks == std::vector<int>({ 4, 5, 0, 1, 2, 3 }));
    BOOST_TEST(code->circulants().all[0].column == 0);
    BOOST_TEST(code->circulants().all[3].shift == 0);
    BOOST_TEST(code->circulants().all.size() == plain->circulants().all.size());
    for (const auto& [text, part] :
         { std::make_pair("visited", "block rows behind \"visited\""),
           { "visited 0-3", "block rows such as 7 or 0-767, counted from 0, up to 2" },
           { "visited 0 1 0", "block row once among those visited, found 0 twice" },
           { "visited 2 1", "all 3 block rows behind \"visited\", found 2" },
           { "seen 1", "or \"visited\" block rows" } }) {
        const auto error = error_of(qc, matrix + text);
        BOOST_TEST(error.find("test.qc:5: expected ") == 0u, error);
        BOOST_TEST(error.find(part) != std::string::npos, error);
    }
    // An alist has no block rows.
    const auto error = error_of(alist, as_alist(*plain, true) + "visited 0-2");
    BOOST_TEST(error.find("nothing but \"punctured\" or \"shortened\"") !=
                   std::string::npos,
               error);
}

// Shortened columns may be ones that elimination would take for parity. Other columns
// then become parity.
BOOST_AUTO_TEST_CASE(any_columns_may_be_shortened)
{
    auto& random = generator();
    for (int round = 0; round < 30; ++round) {
        auto text = as_qc(*ldpc_code::wifi(648, "1/2"), 27);
        std::vector<int> columns(648);
        std::iota(columns.begin(), columns.end(), 0);
        std::shuffle(columns.begin(), columns.end(), random);
        const int shortened = 1 + round * 10;
        text += "shortened";
        for (int i = 0; i < shortened; ++i) {
            text += " " + std::to_string(columns[i]);
        }
        const auto code = qc(text);
        BOOST_REQUIRE(code->n() == 648 - shortened);
        // The rank may fall as columns go, by few if at all.
        BOOST_REQUIRE(code->k() >= 324 - shortened);
        const auto info = random_bits(code->k());
        std::vector<uint8_t> first;
        for (const auto where : { backend::reference, backend::cpu }) {
            auto here = queue::make(where);
            std::vector<uint8_t> word(code->n()), whole(648);
            ldpc_encoder::make(code, where)->run(info, word, *here);
            for (int i = 0; i < code->n(); ++i) {
                whole[code->transmitted()[i]] = word[i];
            }
            BOOST_REQUIRE(code->is_codeword(whole.data()));
            for (int i = 0; i < code->k(); ++i) {
                BOOST_REQUIRE(whole[code->info_positions()[i]] == info[i]);
            }
        }
        if (code->k() == 1) {
            break;
        }
    }
}

namespace {

std::vector<ldpc_code::sptr> one_of_each_family()
{
    return { ldpc_code::wifi(1296, "3/4"),
             ldpc_code::wimax(672, "3/4A"),
             ldpc_code::nr5g(1, 384, 46),
             ldpc_code::nr5g(2, 52, 17, 33),
             ldpc_code::dvbs2("short", "1/4"),
             ldpc_code::dvbs2("normal", "9/10"),
             ldpc_code::dvbs2x("short", "7/15"),
             ldpc_code::dvbs2x("normal", "2/9 VL-SNR"),
             ldpc_code::dvbs2x("short", "1/5 VL-SNR SF2"),
             ldpc_code::dvbt2("short", "3/5"),
             ldpc_code::ccsds("ar4ja", 1024, "1/2"),
             ldpc_code::ccsds("ar4ja", 4096, "4/5"),
             ldpc_code::ccsds("tc", 256),
             ldpc_code::ccsds("c2", 7154),
             ldpc_code::ccsds("c2", 7136),
             ldpc_code::ten_gbase_t(),
             ldpc_code::regular(),
             ldpc_code::regular(1000, 2, 5) };
}

void same_code(const ldpc_code& a, const ldpc_code& b)
{
    same_matrix(a, b);
    BOOST_TEST(a.variables() == b.variables());
    BOOST_TEST(a.punctured() == b.punctured());
    BOOST_TEST(a.shortened() == b.shortened());
    BOOST_TEST(a.transmitted() == b.transmitted());
}

} // namespace

BOOST_AUTO_TEST_CASE(every_family_comes_back_from_the_files_that_it_writes)
{
    int quasi_cyclic = 0;
    for (const auto& code : one_of_each_family()) {
        BOOST_TEST_CONTEXT(code->name())
        {
            std::ostringstream text;
            code->to_alist(text);
            same_code(*alist(text.str()), *code);
            if (code->transmitted().empty()) { // as an independent writer has it
                std::istringstream written(text.str()), expected(as_alist(*code, true));
                using words = std::istream_iterator<std::string>;
                BOOST_TEST(std::equal(words(written), words(), words(expected), words()));
            }
            text.str("");
            const auto& blocks = code->circulants();
            if (blocks.lifting_size == 0 || !blocks.bits.empty()) {
                BOOST_CHECK_THROW(code->to_qc(text), std::invalid_argument);
                BOOST_TEST(text.str().empty());
                continue;
            }
            ++quasi_cyclic;
            code->to_qc(text);
            const auto again = qc(text.str());
            same_code(*again, *code);
            BOOST_TEST((again->layers() == code->layers()));
            BOOST_TEST(again->telling() == code->telling());
            BOOST_TEST(again->circulants().all.size() == blocks.all.size());
        }
    }
    BOOST_TEST(quasi_cyclic == 11);
}

BOOST_AUTO_TEST_CASE(files_are_written_to_disk)
{
    const auto code = ldpc_code::ccsds("ar4ja", 1024, "4/5");
    const std::string path = "qa_ldpc_code_files.written";
    code->to_qc(path);
    same_code(*ldpc_code::from_qc(path), *code);
    code->to_alist(path);
    same_code(*ldpc_code::from_alist(path), *code);
    std::remove(path.c_str());
    for (const auto nowhere : { "no/such/file", ".", "", "/dev/full" }) {
        BOOST_CHECK_THROW(code->to_alist(nowhere), code_file_error);
        BOOST_CHECK_THROW(code->to_qc(nowhere), code_file_error);
    }
    // A name is free to hold anything.
    std::istringstream text("2 1 2\n0 1\n");
    const auto odd = ldpc_code::parse_qc(text, "a\nb\r9");
    std::ostringstream out;
    odd->to_qc(out);
    BOOST_TEST(out.str() == "# a b 9\n2 1 2\n0 1\n");
}
