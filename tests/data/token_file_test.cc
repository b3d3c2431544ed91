// Token files: documents round-trip through any number of files, and damage is detected.
#include "weft/models/text/tokens/token_file.h"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>

#include "token_samples.h"
#include "weft/core/error.h"
#include "weft/models/text/tokens/training_part.h"
#include "weft/models/text/unicode/utf8.h"
#include "weft/serialization/files/crc32c.h"
#include "weft/serialization/files/read_file.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(token_files)
namespace {

using testing::all_ids;
using testing::letters;
using testing::TemporaryFolder;
using testing::write_tokens;

const std::vector<std::string> kTexts = {"the", "quick", "brown", "fox", "jumps"};

BOOST_AUTO_TEST_CASE(documents_round_trip_with_their_bounds) {
  const TemporaryFolder folder("tokens");
  for (const bool ends : {false, true}) {
    const Tokenizer tokenizer = letters(ends);
    const TokenSet set = write_tokens(folder.path("set"), tokenizer, kTexts);
    BOOST_TEST(set.documents() == 5);
    BOOST_TEST(set.bytes() == 21);
    BOOST_TEST(set.tokens() == 21 + (ends ? 5 : 0));
    BOOST_TEST(set.end_id() == (ends ? 1 : -1));
    BOOST_TEST(set.tokenizer().bytes() == tokenizer.bytes());
    std::vector<std::int32_t> wanted;
    TokenPlace end;
    for (std::size_t i = 0; i < kTexts.size(); ++i) {
      const auto ids = tokenizer.encode(kTexts[i]);
      wanted.insert(wanted.end(), ids.begin(), ids.end());
      if (ends) wanted.push_back(tokenizer.eos_id());
      end = {std::ssize(wanted), end.byte + std::ssize(kTexts[i])};
      BOOST_TEST((set.document_end(static_cast<std::int64_t>(i)) == end));
    }
    BOOST_TEST(all_ids(set) == wanted, boost::test_tools::per_element());
    set.files().front()->check_ids();
  }
}

BOOST_AUTO_TEST_CASE(several_files_are_read_as_one_set) {
  const TemporaryFolder folder("tokens");
  const TokenSet one = write_tokens(folder.path("one"), letters(true), kTexts);
  for (const std::uint64_t bytes : {1, 9, 16, 30}) {
    const TokenSet parts = write_tokens(folder.path("parts"), letters(true), kTexts, bytes);
    BOOST_TEST_CONTEXT(bytes << " bytes, " << parts.files().size() << " files") {
      BOOST_TEST(parts.files().size() > 1U);
      BOOST_TEST(parts.tokens() == one.tokens());
      BOOST_TEST(all_ids(parts) == all_ids(one), boost::test_tools::per_element());
      for (std::int64_t begin = 0; begin < one.tokens(); ++begin) {
        BOOST_TEST(parts.document_of(begin) == one.document_of(begin));
        for (std::int64_t size = 0; begin + size <= one.tokens(); ++size) {
          std::vector<std::int32_t> a(static_cast<std::size_t>(size)), b(a);
          one.read(begin, a);
          parts.read(begin, b);
          BOOST_TEST(a == b);
        }
      }
      for (std::int64_t i = 0; i < one.documents(); ++i)
        BOOST_TEST((parts.document_end(i) == one.document_end(i)));
      for (std::int64_t byte = 0; byte <= one.bytes(); ++byte)
        BOOST_TEST((parts.last_place(byte) == one.last_place(byte)));
      // A set can also be opened with the name of its first file, but not with that of another
      // file.
      BOOST_TEST(TokenSet::open(folder.path("parts-00000.tok")).tokens() == one.tokens());
      check_error_message<FormatError>([&] { TokenSet::open(folder.path("parts-00001.tok")); },
                                       "this is file 1 of its set, not file 0: pass the first");
    }
  }
  // A set with fewer files replaces a set with more files.
  write_tokens(folder.path("parts"), letters(true), kTexts);
  BOOST_TEST(!std::filesystem::exists(folder.path("parts-00001.tok")));
}

BOOST_AUTO_TEST_CASE(long_documents_contain_marks) {
  const TemporaryFolder folder("tokens");
  const Tokenizer tokenizer = letters();
  {
    TokenSetWriter writer(folder.path("long"), tokenizer);
    for (int i = 0; i < 100; ++i) {
      writer.add(tokenizer.encode(std::string(1000, 'a')), 1000);
      writer.mark();
    }
    writer.end_document();
    writer.add(tokenizer.encode("b"), 1);
    writer.end_document();
    writer.finish();
  }
  const TokenSet set = TokenSet::open(folder.path("long"));
  // No mark is stored for the position at the end of a document.
  BOOST_TEST(set.files().front()->header().marks == 19U);
  BOOST_TEST((set.last_place(4999) == TokenPlace{}));
  BOOST_TEST((set.last_place(5000) == TokenPlace{5000, 5000}));
  BOOST_TEST((set.last_place(99'999) == TokenPlace{95'000, 95'000}));
  BOOST_TEST((set.last_place(100'000) == TokenPlace{100'000, 100'000}));
  BOOST_TEST((set.last_place(200'000) == TokenPlace{100'001, 100'001}));
}

BOOST_AUTO_TEST_CASE(large_vocabularies_use_four_byte_ids) {
  const TemporaryFolder folder("tokens");
  std::string text;
  for (char32_t c = 0x4E00; c < 0x4E00 + 20'000; ++c) append_utf8(text, c);
  for (char32_t c = 0x20000; c < 0x20000 + 42'000; ++c) append_utf8(text, c);
  for (char32_t c = 0xAC00; c < 0xAC00 + 11'000; ++c) append_utf8(text, c);
  const Tokenizer tokenizer = CharacterTokenizer::from_text(text);
  BOOST_TEST(tokenizer.vocab_size() == 73'000);
  const TokenSet set = write_tokens(folder.path("wide"), tokenizer, {text});
  BOOST_TEST(set.files().front()->header().id_bytes == 4U);
  BOOST_TEST(tokenizer.decode(all_ids(set)) == text);
}

BOOST_AUTO_TEST_CASE(writers_reject_invalid_data) {
  const TemporaryFolder folder("tokens");
  const Tokenizer tokenizer = letters();
  TokenSetWriter writer(folder.path("x"), tokenizer);
  const std::vector<std::int32_t> wrong = {26};
  check_error_message<ArgumentError>(
      [&] { writer.add(wrong, 1); },
      "the tokenizer has 26 ids, so the id 26 is outside its vocabulary");
  writer.add({}, 3);  // a document without tokens
  writer.end_document();
  check_error_message<DataError>([&] { writer.finish(); },
                                 "there is no text to write to token files");
  BOOST_TEST(!std::filesystem::exists(folder.path("x-00000.tok")));
  check_error_message<ArgumentError>([&] { TokenSetWriter(folder.path("x"), Tokenizer()); },
                                     "cannot write token files");
  check_error_message<ArgumentError>([&] { TokenSetWriter(folder.path("x"), tokenizer, 0); },
                                     "needs room");
}

BOOST_AUTO_TEST_CASE(incomplete_files_are_not_visible) {
  const TemporaryFolder folder("tokens");
  {
    TokenSetWriter writer(folder.path("x"), letters(), 4);
    writer.add(letters().encode("abc"), 3);
    writer.end_document();
    BOOST_TEST(!is_token_set(folder.path("x")));
    writer.add(letters().encode("d"), 1);
    writer.end_document();
    BOOST_TEST(std::filesystem::exists(folder.path("x-00000.tok")));
  }  // never finished
  check_error_message<FormatError>([&] { TokenSet::open(folder.path("x")); },
                                   "x-00001.tok\" is missing: \"" + folder.path("x-00000.tok") +
                                       "\" is not the last file of its set");
}

BOOST_AUTO_TEST_CASE(files_of_different_sets_are_rejected) {
  const TemporaryFolder folder("tokens");
  write_tokens(folder.path("a"), letters(), kTexts, 4);
  write_tokens(folder.path("b"), letters(), {"other", "texts", "of", "people"}, 4);
  std::filesystem::copy_file(folder.path("b-00001.tok"), folder.path("a-00001.tok"),
                             std::filesystem::copy_options::overwrite_existing);
  check_error_message<FormatError>([&] { TokenSet::open(folder.path("a")); },
                                   "at byte 80: this file does not follow");
  std::filesystem::rename(folder.path("b-00000.tok"), folder.path("first"));
  check_error_message<FormatError>([&] { TokenSet::open(folder.path("first")); },
                                   "one of several files, but its name does not end in -00000.tok");
}

BOOST_AUTO_TEST_CASE(documents_with_overflowing_sizes_are_rejected) {
  const TemporaryFolder folder("tokens");
  const Tokenizer tokenizer = letters();
  std::uint64_t before = 0;
  for (const std::uint32_t number : {0U, 1U}) {
    TokenFileWriter writer(token_file_name(folder.path("x"), number), tokenizer, number, before);
    writer.add(tokenizer.encode("a"), std::uint64_t{1} << 62);
    writer.end_document();
    before = writer.finish(number == 1);
  }
  check_error_message<FormatError>(
      [&] { TokenSet::open(folder.path("x")); },
      "x-00001.tok\" at byte 40: the total text size of the token set overflows 64 bits");
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  BOOST_TEST(training_part(most, 0) == most);
  BOOST_TEST(training_part(10, 0.1) == 9);
}

BOOST_AUTO_TEST_CASE(errors_for_a_different_tokenizer_name_both_tokenizers) {
  const TemporaryFolder folder("tokens");
  const TokenSet set = write_tokens(folder.path("x"), letters(), kTexts);
  require_tokenizer(set, letters(), "the model");
  const Tokenizer other = CharacterTokenizer::from_text("abc");
  check_error_message<DataError>(
      [&] { require_tokenizer(set, other, "the model in net.weft"); },
      "has 26 characters (digest " + str(set.digest()) +
          "), but the tokenizer of the model in net.weft has 3 characters (digest " +
          str(tokenizer_digest(other)));
}

/// The bytes of a token file. A modified file must be rejected.
struct Bytes {
  static constexpr std::uint64_t kIdBytes = 30'004;
  std::string bytes;
  const TemporaryFolder& folder;

  template <class T>
  void put(std::size_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof(T));
  }
  /// Recomputes the checksums.
  void seal() {
    TokenFileHeader header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    const std::uint64_t tables = token_tables_offset(kIdBytes);
    header.tables_crc = crc32c(bytes.data() + tables, bytes.size() - tables);
    header.seal();
    std::memcpy(bytes.data(), &header, sizeof(header));
  }
  void check_rejected(const std::string& part) const {
    const std::string path = folder.write("damaged", bytes);
    check_error_message<FormatError>([&] { TokenSet::open(path).files().front()->check_ids(); },
                                     "\"" + path + "\" at byte " + part);
  }
};

BOOST_AUTO_TEST_CASE(errors_name_the_byte_offset_of_the_damage) {
  const TemporaryFolder folder("tokens");
  TokenSetWriter writer(folder.path("good"), letters());
  for (int i = 0; i < 3; ++i) {
    writer.add(letters().encode(std::string(5000, 'x')), 5000);
    writer.mark();
  }
  writer.add(letters().encode("y"), 1);
  writer.end_document();
  writer.add(letters().encode("z"), 1);
  writer.end_document();
  writer.finish();
  const std::string good = read_whole_file(folder.path("good-00000.tok"));
  // The file has 15,002 ids of 2 bytes, 2 documents, 3 marks, one checksum, and the tokenizer.
  const std::size_t ids = 128, tables = 128 + 30'016, marks = tables + 32, crcs = marks + 48,
                    tokenizer = crcs + 4;
  const auto damaged = [&](auto&& change, bool seal = true) {
    Bytes file{good, folder};
    change(file);
    if (seal) file.seal();
    return file;
  };
  const auto with = [&](std::size_t at, auto value) {
    return damaged([&](Bytes& file) { file.put(at, value); });
  };
  Bytes{good.substr(0, 5), folder}.check_rejected("0: not a token file");
  Bytes{"\x89weft\r\n\x1a" + good.substr(8), folder}.check_rejected("0: not a token file");
  Bytes{good.substr(0, 100), folder}.check_rejected(
      "100: the file ends inside its header of 128 bytes");
  with(8, 2U).check_rejected("8: the file has version 2; this program reads version 1");
  damaged([](Bytes& f) { f.put(16, 25U); }, false).check_rejected("124: the header is damaged");
  with(12, 3U).check_rejected("12: the size of an id is 3 bytes, but must be 2 or 4");
  with(16, std::uint64_t{0})
      .check_rejected("16: the vocabulary has 0 ids of 2 bytes each, but must have 1 to 65536");
  with(16, std::uint64_t{65'537}).check_rejected("16: the vocabulary has 65537 ids");
  with(16, std::uint64_t{27})
      .check_rejected("16: the vocabulary has 27 ids, but the tokenizer in the file has");
  with(24, std::uint64_t{0}).check_rejected("24: the file has no ids");
  with(24, ~std::uint64_t{0}).check_rejected("24: a size in the file is too large");
  with(32, std::uint64_t{0}).check_rejected("32: 0 documents with 15002 ids");
  with(32, std::uint64_t{15'003}).check_rejected("32: 15003 documents with 15002 ids");
  with(40, ~std::uint64_t{0})
      .check_rejected("40: the text is too long (18446744073709551615 bytes)");
  with(48, std::uint64_t{1} << 60).check_rejected("24: a size in the file is too large");
  with(48, std::uint64_t{4})
      .check_rejected(std::to_string(good.size()) +
                      ": according to its header, the file should have " +
                      std::to_string(good.size() + 16));
  with(64, std::uint64_t{1})
      .check_rejected("64: the digest does not match the tokenizer in the file");
  with(80, std::uint64_t{1})
      .check_rejected("80: the first file of a set must not have a previous file");
  with(88, 7U).check_rejected("88: this is file 7 of its set, not file 0");
  with(92, 5U).check_rejected("92: the flags 0x5 are unknown");
  with(96, -2).check_rejected("96: the end-of-text id is -2");
  with(96, 26).check_rejected("96: the end-of-text id is 26, but the vocabulary has 26 ids");
  with(100, 1).check_rejected("100: a reserved field is not zero");
  with(108, 1).check_rejected("108: a reserved field is not zero");
  damaged([](Bytes& f) { f.bytes.resize(f.bytes.size() - 1); }, false)
      .check_rejected(std::to_string(good.size() - 1) +
                      ": according to its header, the file should have");
  damaged([](Bytes& f) { f.bytes += 'x'; }, false)
      .check_rejected(std::to_string(good.size()) +
                      ": according to its header, the file should have");
  with(tables - 1, 'x').check_rejected(std::to_string(tables - 1) + ": a padding byte is not zero");
  damaged([&](Bytes& f) { f.put(tables, 'x'); }, false)
      .check_rejected(std::to_string(tables) + ": the tables after the ids are damaged");
  with(tables, std::int64_t{0})
      .check_rejected(std::to_string(tables) + ": document 0 ends after 0 ids");
  with(tables, std::int64_t{1} << 40)
      .check_rejected(std::to_string(tables) + ": document 0 ends after");
  with(tables + 8, std::int64_t{-1})
      .check_rejected(std::to_string(tables + 8) + ": document 0 ends");
  with(tables + 24, std::int64_t{15'001})
      .check_rejected(std::to_string(tables + 16) + ": the last doc");
  with(marks, std::int64_t{15'002})
      .check_rejected(std::to_string(marks) + ": mark 0 is after 15002 ids");
  with(marks + 16, std::int64_t{5000})
      .check_rejected(std::to_string(marks + 16) + ": mark 1 is after");
  with(marks + 8, std::int64_t{15'002})
      .check_rejected(std::to_string(marks + 8) + ": mark 0 is after 15002 bytes of text, outside");
  with(crcs, 0U).check_rejected(
      "128: the ids are damaged: the checksum of 30004 bytes does not match");
  with(tokenizer, 1'000'000U)
      .check_rejected(std::to_string(tokenizer) + ": the tokenizer section of");
  // Changes the ids, first without and then with an updated checksum.
  with(ids, std::uint16_t{25}).check_rejected("128: the ids are damaged");
  Bytes outside = with(ids + 2, std::uint16_t{26});
  outside.put(crcs, crc32c(outside.bytes.data() + ids, 30'004));
  outside.seal();
  outside.check_rejected("130: an id is outside the vocabulary [0, 26)");
  const TokenFile file(folder.write("outside", outside.bytes));
  std::vector<std::int32_t> some(4);
  check_error_message<FormatError>([&] { file.read(0, some); },
                                   "at byte 130: the id 26 is outside the vocabulary [0, 26)");
  file.read(2, some);
  check_error_message<ArgumentError>([&] { file.read(14'999, some); },
                                     "4 ids from position 14999: \"");
  check_error_message<ArgumentError>([&] { file.read(-1, some); }, "4 ids from position -1");
  check_error_message<ArgumentError>([&] { static_cast<void>(file.document_end(2)); },
                                     "document 2 is outside");
}

BOOST_AUTO_TEST_CASE(ids_are_verified_when_they_are_read) {
  const TemporaryFolder folder("tokens");
  write_tokens(folder.path("good"), letters(true), kTexts);
  std::string bytes = read_whole_file(folder.path("good-00000.tok"));
  bytes[128] = static_cast<char>(bytes[128] ^ 1);  // another valid id
  const TokenSet damaged = TokenSet::open(folder.write("damaged", bytes));
  std::vector<std::int32_t> last(1);
  for (int attempt = 0; attempt < 2; ++attempt) {
    check_error_message<FormatError>([&] { damaged.read(damaged.tokens() - 1, last); },
                                     "at byte 128: the ids are damaged");
  }
}

BOOST_AUTO_TEST_CASE(every_changed_byte_and_truncation_is_detected) {
  const TemporaryFolder folder("tokens");
  write_tokens(folder.path("good"), letters(true), kTexts);
  const std::string good = read_whole_file(folder.path("good-00000.tok"));
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x41);
    const std::string path = folder.write("damaged", bytes);
    BOOST_TEST_CONTEXT("byte " << at) {
      BOOST_CHECK_THROW(TokenSet::open(path).files().front()->check_ids(), FormatError);
    }
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    const std::string path = folder.write("damaged", good.substr(0, size));
    BOOST_CHECK_THROW(TokenSet::open(path), FormatError);
  }
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
