// Text corpora: documents in files of all formats, and the token files created from them.
#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "token_samples.h"
#include "weft/core/error.h"
#include "weft/models/text/corpus/corpus_files.h"
#include "weft/models/text/corpus/corpus_texts.h"
#include "weft/models/text/corpus/jsonl.h"
#include "weft/models/text/corpus/tokenize.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"
#include "weft/models/text/unicode/utf8.h"
#include "weft/serialization/files/read_file.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/text_files.h"
#include "weft/tests/tokenizers/goldens.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(corpus)
namespace {

using testing::all_ids;
using testing::TemporaryFolder;

std::string gzip_compressed(const std::string& text) {
  z_stream stream = {};
  BOOST_REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) ==
                Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  BOOST_REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd_compressed(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

/// Returns the documents of a file. Each document is the concatenation of its pieces.
std::vector<std::string> documents(DocumentReader& reader) {
  std::vector<std::string> all;
  DocumentPiece piece;
  bool open = false;
  while (reader.next(piece)) {
    BOOST_TEST(piece.begins == !open);
    BOOST_TEST(piece.text.size() <= kPieceBytes + 1);
    if (piece.begins) all.emplace_back();
    all.back() += piece.text;
    open = !piece.ends;
  }
  BOOST_TEST(!open);
  return all;
}
std::vector<std::string> documents(const std::string& path, DocumentEnd end) {
  return documents(*read_text_documents(path, end));
}
std::vector<std::string> json_documents(const std::string& path, const JsonlOptions& options = {}) {
  return documents(*read_jsonl_documents(path, options));
}

/// Returns about `bytes` bytes of English words with line breaks.
std::string long_text(std::size_t bytes) {
  std::string text;
  for (int i = 0; text.size() < bytes; ++i)
    text += fmt::format("the {} quick brown foxes jump over{}lazy dogs, and \"so\" on. ", i,
                        i % 7 == 0 ? "\n" : " ");
  return text;
}

using Texts = std::vector<std::string>;

BOOST_AUTO_TEST_CASE(documents_end_at_file_ends_blank_lines_or_line_ends) {
  const TemporaryFolder folder("corpus");
  const std::string path =
      folder.write("a.txt", "\xEF\xBB\xBF\n \none\ntwo\r\n\t\n\nthree\n  \nfour");
  BOOST_TEST(documents(path, DocumentEnd::file) ==
             Texts({"\n \none\ntwo\r\n\t\n\nthree\n  \nfour"}));
  BOOST_TEST(documents(path, DocumentEnd::blank_line) == Texts({"one\ntwo\r", "three", "four"}));
  BOOST_TEST(documents(path, DocumentEnd::line) == Texts({"one", "two\r", "three", "four"}));
  const std::string ended = folder.write("b.txt", "one\n\ntwo\n");
  BOOST_TEST(documents(ended, DocumentEnd::file) == Texts({"one\n\ntwo\n"}));
  BOOST_TEST(documents(ended, DocumentEnd::blank_line) == Texts({"one", "two"}));
  BOOST_TEST(documents(ended, DocumentEnd::line) == Texts({"one", "two"}));
  for (const DocumentEnd end : {DocumentEnd::file, DocumentEnd::blank_line, DocumentEnd::line}) {
    BOOST_TEST(documents(folder.write("empty.txt", ""), end).empty());
    BOOST_TEST(documents(folder.write("blank.txt", " \n\n\t"), end).empty());
  }
}

BOOST_AUTO_TEST_CASE(the_pieces_of_a_long_document_concatenate_to_the_document) {
  const TemporaryFolder folder("corpus");
  const std::string text = long_text(3'000'000), japanese = [] {
    std::string all;
    for (char32_t c = 0; all.size() < 500'000; ++c) append_utf8(all, 0x3042 + c % 80);
    return all;
  }();
  std::string blanks = "x" + std::string(100'000, ' ') + "y";
  for (const std::string& whole : {text, japanese, blanks}) {
    const std::string path = folder.write("long.txt", whole + "\n\nnext");
    BOOST_TEST((documents(path, DocumentEnd::blank_line) == Texts({whole, "next"})));
    BOOST_TEST((documents(path, DocumentEnd::file) == Texts({whole + "\n\nnext"})));
    if (whole.find('\n') == std::string::npos)
      BOOST_TEST((documents(path, DocumentEnd::line) == Texts({whole, "next"})));
  }
  // A document that just fits is not split. Longer documents are split before a word.
  BOOST_TEST(piece_end("ab cd", 5) == 0U);
  BOOST_TEST(piece_end("ab cd", 4) == 0U);
  BOOST_TEST(piece_end("ab cd", 3) == 2U);
  BOOST_TEST(piece_end("ab 12\ncd  e", 9) == 5U);
  BOOST_TEST(piece_end("a \xE3\x81\x82\xE3\x81\x82", 6) == 5U);
}

BOOST_AUTO_TEST_CASE(gzip_and_zstd_files_are_read_in_the_same_way_as_plain_text) {
  const TemporaryFolder folder("corpus");
  const std::string text = long_text(1'500'000);
  const std::string half = text.substr(0, 700'000), rest = text.substr(700'000);
  for (const std::string& bytes :
       {gzip_compressed(text), gzip_compressed(half) + gzip_compressed(rest), zstd_compressed(text),
        zstd_compressed(half) + zstd_compressed(rest),
        std::string("\x50\x2a\x4d\x18\x03\x00\x00\x00", 8) + "abc" + zstd_compressed(text)}) {
    const std::string path = folder.write("any.name", bytes);
    BOOST_TEST((documents(path, DocumentEnd::file) == Texts({text})));
    const auto cut = [&](std::size_t size) {
      const auto reader = read_text_documents(folder.write("cut", bytes.substr(0, size)), {});
      documents(*reader);
    };
    const std::string format = bytes.starts_with("\x1f") ? "gzip" : "zstd";
    check_error_message<FormatError>(
        [&] { cut(bytes.size() - 1); },
        fmt::format("/cut: unexpected end of file at byte {} of the {} file", bytes.size() - 1,
                    format));
  }
  std::string wrong = zstd_compressed(text);
  wrong[wrong.size() / 2] = static_cast<char>(wrong[wrong.size() / 2] ^ 0x55);
  check_error_message<FormatError>([&] { documents(folder.write("bad.zst", wrong), {}); },
                                   "of the zstd file");
}

BOOST_AUTO_TEST_CASE(errors_for_invalid_utf8_name_line_and_byte) {
  const TemporaryFolder folder("corpus");
  const auto check_rejected = [&](const std::string& bytes, const std::string& part) {
    const std::string path = folder.write("bad.txt", bytes);
    for (const DocumentEnd end : {DocumentEnd::file, DocumentEnd::line})
      check_error_message<FormatError>([&] { documents(path, end); }, path + part);
  };
  check_rejected(
      "ab\nc\xFF"
      "d",
      ", line 2: not UTF-8: invalid sequence at byte 4 (0xff)");
  check_rejected(
      "\xEF\xBB\xBF"
      "ab\n\xE3\x81",
      ", line 2: not UTF-8: invalid sequence at byte 6 (0xe3)");
  const std::string before = long_text(100'000) + "\n";
  check_rejected(before + "\xC0\x80",
                 fmt::format(", line {}: not UTF-8: invalid sequence at byte {} (0xc0)",
                             1 + std::count(before.begin(), before.end(), '\n'), before.size()));
  check_rejected(
      "\xFF\xFE"
      "a",
      ": the text is UTF-16 or UTF-32; convert it to UTF-8");
}

BOOST_AUTO_TEST_CASE(one_field_of_json_lines_is_read) {
  const TemporaryFolder folder("corpus");
  const std::string path =
      folder.write("a.jsonl",
                   "\xEF\xBB\xBF{\"text\": \"one\\n\\u00e9\\ud83d\\ude00\", \"meta\": {\"text\": "
                   "3, \"x\": [[]]}}\n"
                   "{\"n\": 1, \"text\": \"\"}\r\n  {\"text\":\"three\",\"title\":\"t\"}");
  BOOST_TEST(json_documents(path) == Texts({"one\n\u00e9\U0001F600", "three"}));
  BOOST_TEST(json_documents(folder.write("b.jsonl", "{\"body\":\"x\"}\n"), {.field = "body"}) ==
             Texts({"x"}));
  BOOST_TEST(json_documents(folder.write("c.jsonl", "")).empty());
  const std::string text = long_text(200'000);
  std::string escaped;
  for (const char c : text) {
    if (c == '\n') {
      escaped += "\\n";
    } else {
      if (c == '"') escaped += '\\';
      escaped += c;
    }
  }
  const std::string lines = "{\"text\":\"" + escaped + "\"}\n{\"text\":\"b\"}\n";
  BOOST_TEST((json_documents(folder.write("d.jsonl", lines)) == Texts({text, "b"})));
  BOOST_TEST((json_documents(folder.write("d.gz", gzip_compressed(lines))) == Texts({text, "b"})));
}

BOOST_AUTO_TEST_CASE(blank_lines_at_the_end_of_json_lines_are_skipped) {
  const TemporaryFolder folder("corpus");
  const std::string line = "{\"text\":\"a\"}";
  const auto expected = json_documents(folder.write("a.jsonl", line + "\n" + line + "\n"));
  for (const std::string end : {"", "\r\n", "\n\n", "\n \t\r\n\n  ", "\n\r\n\r\n"}) {
    BOOST_TEST_CONTEXT(end.size()) {
      BOOST_TEST((json_documents(folder.write("b.jsonl", line + "\n" + line + end)) == expected));
      BOOST_TEST((json_documents(folder.write(
                      "b.jsonl", "\xEF\xBB\xBF" + line + "\r\n" + line + end)) == expected));
    }
  }
  BOOST_TEST(json_documents(folder.write("c.jsonl", "\n \n")).empty());
}

BOOST_AUTO_TEST_CASE(every_json_lines_error_names_line_and_byte) {
  const TemporaryFolder folder("corpus");
  const auto check_rejected = [&](const std::string& bytes, const std::string& part,
                                  const JsonlOptions& options = {}) {
    const std::string path = folder.write("bad.jsonl", bytes);
    check_error_message<FormatError>([&] { json_documents(path, options); }, path + part);
  };
  const std::string good = "{\"text\":\"a\"}\n";  // 13 bytes
  check_rejected(good + "{\"text\":\"b\",}\n", ", line 2 (byte 25): not valid JSON: ");
  check_rejected(good + "{\"text\":\"b\"} x", ", line 2 (byte 26): not valid JSON: ");
  check_rejected(good + "{\"text\":\"b", ", line 2 (byte ");
  check_rejected(good + "\n" + good,
                 ", line 2 (byte 13): the line is empty: each line must be a JSON object");
  check_rejected(good + " \r\n" + good, ", line 2 (byte 13): the line is empty");
  check_rejected(good + "[1]", ", line 2 (byte 13): expected an object, not an array");
  check_rejected("3", ", line 1 (byte 0): expected an object, not a number");
  check_rejected("-3", ", line 1 (byte 0): expected an object, not a number");
  check_rejected("3.5", ", line 1 (byte 0): expected an object, not a number");
  check_rejected("null", ", line 1 (byte 0): expected an object, not null");
  check_rejected("true", ", line 1 (byte 0): expected an object, not a boolean");
  check_rejected("\"x\"", ", line 1 (byte 0): expected an object, not a string");
  check_rejected(good + "{\"Text\":\"b\",\"id\":3}",
                 ", line 2 (byte 13): the object has no field 'text'; its fields are 'Text', 'id'");
  check_rejected("{}", ", line 1 (byte 0): the object has no field 'text'");
  check_rejected("{\"text\":null}", ", line 1 (byte 0): the field 'text' is null, not a string");
  check_rejected("{\"text\":[\"a\"]}",
                 ", line 1 (byte 0): the field 'text' is an array, not a string");
  check_rejected("{\"text\":{}}", ", line 1 (byte 0): the field 'text' is an object, not a string");
  check_rejected("{\"text\":\"a\",\"text\":\"b\"}",
                 ", line 1 (byte 0): the field 'text' occurs twice");
  check_rejected("{\"x\":" + std::string(64, '[') + std::string(64, ']') + ",\"text\":\"a\"}",
                 ", line 1 (byte 0): the object is nested more than 64 levels deep");
  check_rejected(good + "\xEF\xBB\xBF" + good,
                 ", line 2 (byte 13): there is a byte-order mark inside the file");
  check_rejected(good + "{\"text\":\"\xFF\"}", ", line 2 (byte 22): not valid JSON: ");
  check_rejected("{\"text\":\"\\ud800\"}", ", line 1 (byte 15): not valid JSON: ");
  check_rejected(good + "{\"text\":\"" + std::string(100, 'x') + "\"}",
                 ", line 2 (byte 13): the line has more than 64 bytes", {.most_line_bytes = 64});
  check_rejected("{\"text\":\"" + std::string(1 << 20, 'x'),
                 ", line 1 (byte 0): the line has more than 64 bytes", {.most_line_bytes = 64});
}

BOOST_AUTO_TEST_CASE(files_in_folders_are_sorted_by_name) {
  const TemporaryFolder folder("corpus");
  for (const char* name :
       {"b.txt", "a/z.jsonl.gz", "a/y.md", "c.txt.zst", "d.png", ".hidden.txt", ".git/x.txt"})
    folder.write(name, "x");
  const auto names = [&](const std::vector<CorpusFile>& files) {
    Texts all;
    for (const CorpusFile& file : files) {
      all.push_back(std::filesystem::path(file.path).lexically_relative(folder.path()).string() +
                    (file.format == CorpusFormat::jsonl ? " jsonl" : ""));
    }
    return all;
  };
  const Texts paths = {folder.path("d.png"), folder.path()};
  BOOST_TEST(names(find_corpus_files(paths)) ==
             Texts({"d.png", "a/y.md", "a/z.jsonl.gz jsonl", "b.txt", "c.txt.zst"}));
  BOOST_TEST(names(find_corpus_files(paths, CorpusFormat::text)) ==
             Texts({"d.png", "a/y.md", "a/z.jsonl.gz", "b.txt", "c.txt.zst", "d.png"}));
  std::filesystem::create_directory(folder.path("none"));
  check_error_message<DataError>(
      [&] { find_corpus_files(Texts({folder.path("none")})); },
      "/none has no file that ends in .txt, .text, .md, .jsonl or .ndjson");
  check_error_message<IoError>([&] { find_corpus_files(Texts({folder.path("nowhere")})); },
                               "/nowhere: No such file or directory");
}

TokenSet tokenized(const TemporaryFolder& folder, const Texts& files, const Tokenizer& tokenizer,
                   const TokenizeOptions& options = {}) {
  TokenSetWriter writer(folder.path("set"), tokenizer);
  tokenize(find_corpus_files(files), tokenizer, options, writer);
  writer.finish();
  return TokenSet::open(folder.path("set"));
}

BOOST_AUTO_TEST_CASE(ids_equal_the_ids_of_whole_texts_for_any_number_of_threads) {
  const TemporaryFolder folder("corpus");
  const std::string text = long_text(120'000);
  const Texts files = {folder.write("a.txt", text), folder.write("b.txt", "short"),
                       folder.write("c.jsonl", "{\"text\":\"c\"}\n{\"text\":\"lazy dogs\"}\n")};
  const Texts whole = {text, "short", "c", "lazy dogs"};
  const auto trained = [&](bool keep) {
    return Tokenizer(SentencePieceTokenizer::train(
        std::span(&text, 1), {.vocab = 200, .character_coverage = 1, .keep_whitespace = keep}));
  };
  for (const Tokenizer& tokenizer :
       {Tokenizer(CharacterTokenizer::from_text(text)), trained(false), trained(true)}) {
    std::vector<std::int32_t> wanted;
    for (const std::string& document : whole) {
      const auto ids = tokenizer.encode(document);
      wanted.insert(wanted.end(), ids.begin(), ids.end());
      if (tokenizer.eos_id() >= 0) wanted.push_back(tokenizer.eos_id());
    }
    for (const int threads : {1, 3}) {
      const TokenSet set = tokenized(folder, files, tokenizer, {.threads = threads});
      BOOST_TEST((all_ids(set) == wanted));
      BOOST_TEST(set.documents() == 4);
      BOOST_TEST(set.bytes() == std::ssize(text) + 15);
      BOOST_TEST(set.files().front()->header().marks >= 2U);
    }
  }
}

BOOST_AUTO_TEST_CASE(published_tokenizers_give_the_same_ids_for_pieces_and_whole_texts) {
  if (!testing::have_token_goldens()) return;
  const std::string text = long_text(60'000);
  std::vector<std::pair<std::string, Tokenizer>> tokenizers;
  const std::filesystem::path files = testing::shared_token_goldens() / "files";
  for (const auto& entry : std::filesystem::directory_iterator(files)) {
    if (const FolderTokenizer found = read_tokenizer_folder(entry.path().string()); found.tokenizer)
      tokenizers.emplace_back(entry.path().filename(), *found.tokenizer);
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(files / "json")) {
    if (entry.path().extension() != ".json") continue;
    tokenizers.emplace_back(entry.path().filename(),
                            SubwordTokenizer::from_bytes(read_whole_file(entry.path())));
  }
  BOOST_TEST(tokenizers.size() > 4U);
  for (const auto& [name, tokenizer] : tokenizers) {
    std::vector<std::int32_t> ids;
    for (std::size_t at = 0; at < text.size();) {
      const std::string_view left = std::string_view(text).substr(at);
      const std::size_t cut = piece_end(left), size = cut == 0 ? left.size() : cut;
      const auto part = tokenizer.encode(left.substr(0, size),
                                         at == 0 ? TextPlace::beginning : TextPlace::middle);
      ids.insert(ids.end(), part.begin(), part.end());
      at += size;
    }
    BOOST_TEST_CONTEXT(name) { BOOST_TEST((ids == tokenizer.encode(text))); }
  }
}

BOOST_AUTO_TEST_CASE(errors_name_the_file_and_line_of_unencodable_texts) {
  const TemporaryFolder folder("corpus");
  const std::string path = folder.write("a.jsonl", "{\"text\":\"ab\"}\n{\"text\":\"a?\"}\n");
  TokenSetWriter writer(folder.path("set"), testing::letters());
  check_error_message<DataError>(
      [&] { tokenize(find_corpus_files(Texts({path})), testing::letters(), {}, writer); },
      path + ", text starting at line 2: ");
}

BOOST_AUTO_TEST_CASE(tokenizer_training_reads_the_documents_of_all_files_in_parts) {
  const TemporaryFolder folder("corpus");
  std::string text = "\xEF\xBB\xBF";
  for (int i = 0; i < 200000; ++i) text += "line " + std::to_string(i) + "\n";
  folder.write("a.txt", text);
  folder.write("b.txt", "");
  folder.write("c.jsonl.gz", gzip_compressed("{\"text\": \"one\"}\n{\"text\": \"two\"}\n"));
  folder.write("d.txt.zst", zstd_compressed("end"));
  CorpusTexts texts(find_corpus_files(Texts({folder.path("")})));
  std::vector<std::string> parts;
  for (std::string part; texts.next(part); parts.push_back(part)) {
    BOOST_TEST(!part.empty());
    BOOST_TEST(part.size() <= kTextPartBytes + kPieceBytes + 1);
  }
  BOOST_TEST_REQUIRE(parts.size() > 4U);
  BOOST_TEST((Texts(parts.end() - 3, parts.end()) == Texts({"one", "two", "end"})));
  std::string first;
  for (auto part = parts.begin(); part != parts.end() - 3; ++part) {
    if (!first.empty()) BOOST_TEST((part->front() == ' ' || part->front() == '\n'));
    first += *part;
  }
  BOOST_TEST((first == text.substr(3)));
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
