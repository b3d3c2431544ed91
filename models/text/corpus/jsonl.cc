#include "weft/models/text/corpus/jsonl.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "weft/core/excerpt.h"
#include "weft/models/text/corpus/text_buffer.h"
#include "weft/serialization/files/strict_json.h"

namespace weft {
namespace {

using nlohmann::json;

/// Extracts one field of an object during parsing, without storing the other fields.
class FieldExtractor final : public nlohmann::json_sax<json> {
 public:
  explicit FieldExtractor(const JsonlOptions& options) : options_(options) {}

  std::string text;
  bool found = false;
  std::string error;   // the error message if parsing failed
  std::size_t at = 0;  // byte offset of the error; valid if `placed` is true
  bool placed = false;
  std::string others;  // names of the other fields

  bool null() override { return value("null"); }
  bool boolean(bool) override { return value("a boolean"); }
  bool number_integer(number_integer_t) override { return value("a number"); }
  bool number_unsigned(number_unsigned_t) override { return value("a number"); }
  bool number_float(number_float_t, const string_t&) override { return value("a number"); }
  bool binary(binary_t&) override { return value("binary data"); }
  bool string(string_t& s) override {
    if (depth_ == 0) return value("a string");
    if (std::exchange(wanted_, false)) text = std::move(s);
    return true;
  }
  bool start_object(std::size_t) override {
    return depth_ == 0 ? open() : value("an object") && open();
  }
  bool start_array(std::size_t) override { return value("an array") && open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (depth_ != 1) return true;
    if (name != options_.field) {
      constexpr std::size_t kShown = 120;
      if (others.size() < kShown)
        others += fmt::format("{}'{}'", others.empty() ? "" : ", ", excerpt(name, 40));
      return true;
    }
    if (std::exchange(found, true)) return stop(fmt::format("the field '{}' occurs twice", name));
    return wanted_ = true;
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception& e) override {
    at = position > 0 ? position - 1 : 0;
    placed = true;
    return stop(fmt::format("not valid JSON: {}", json_reason(e)));
  }

 private:
  bool stop(std::string what) {
    error = std::move(what);
    return false;
  }
  /// Handles a value that is not a string.
  bool value(std::string_view kind) {
    if (depth_ == 0) return stop(fmt::format("expected an object, not {}", kind));
    if (wanted_)
      return stop(fmt::format("the field '{}' is {}, not a string", options_.field, kind));
    return true;
  }
  bool open() {
    if (++depth_ > options_.most_depth)
      return stop(
          fmt::format("the object is nested more than {} levels deep", options_.most_depth));
    return true;
  }
  bool close() {
    --depth_;
    return true;
  }

  const JsonlOptions& options_;
  int depth_ = 0;
  bool wanted_ = false;  // the next value belongs to the field
};

class JsonlDocuments final : public DocumentReader {
 public:
  JsonlDocuments(const std::string& path, JsonlOptions options)
      : buffer_(path), options_(std::move(options)) {}

  const std::string& path() const override { return buffer_.path(); }
  std::uint64_t bytes_read() const override { return buffer_.bytes_read(); }

  bool next(DocumentPiece& piece) override {
    const bool begins = rest_.empty();
    while (rest_.empty()) {
      line_ = buffer_.line();
      if (!take_line()) return false;
    }
    const std::size_t cut = piece_end(rest_), size = cut == 0 ? rest_.size() : cut;
    piece = {std::string(rest_.substr(0, size)), begins, cut == 0, line_};
    rest_.remove_prefix(size);
    return true;
  }

 private:
  /// Reads the next line and extracts its text. Returns false at the end.
  bool take_line() {
    const auto line = buffer_.json_line(options_.most_line_bytes);
    if (!line) return false;
    take_field(*line);
    buffer_.consume(std::min(line->size() + 1, buffer_.text().size()));
    return true;
  }

  void take_field(std::string_view line) {
    if (line.starts_with("\xEF\xBB\xBF"))
      buffer_.fail(0, "there is a byte-order mark inside the file");
    FieldExtractor extractor(options_);
    if (!json::sax_parse(line.begin(), line.end(), &extractor))
      buffer_.fail(extractor.placed ? extractor.at : 0, extractor.error);
    if (!extractor.found) {
      buffer_.fail(
          0, fmt::format("the object has no field '{}'{}", options_.field,
                         extractor.others.empty() ? "" : "; its fields are " + extractor.others));
    }
    text_ = std::move(extractor.text);
    rest_ = text_;
  }

  TextBuffer buffer_;
  JsonlOptions options_;
  std::string text_;       // text of the last line
  std::string_view rest_;  // part of text_ that has not been returned yet
  std::int64_t line_ = 0;
};

}  // namespace

std::unique_ptr<DocumentReader> read_jsonl_documents(const std::string& path,
                                                     const JsonlOptions& options) {
  return std::make_unique<JsonlDocuments>(path, options);
}

}  // namespace weft
