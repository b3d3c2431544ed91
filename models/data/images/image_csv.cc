#include "weft/models/data/images/image_csv.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "weft/core/error.h"
#include "weft/serialization/files/byte_order_mark.h"
#include "weft/serialization/files/read_file.h"

namespace weft {
namespace {

/// More classes than any image table has. This limit prevents a label in a file from causing an
/// arbitrarily large allocation.
constexpr std::int64_t kMaxClasses = 100'000;

/// Reads comma-separated numbers line by line.
class CsvReader {
 public:
  CsvReader(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  /// Returns the numbers in the next non-empty line, or an empty vector at the end.
  std::vector<std::int64_t> next_line() {
    std::vector<std::int64_t> numbers;
    while (numbers.empty() && at_ < text_.size()) {
      ++line_;
      line_begin_ = at_;
      skip_blanks();
      while (!end_of_line()) {
        numbers.push_back(number());
        skip_blanks();
        if (end_of_line()) break;
        if (text_[at_] != ',') fail("expected a comma or the end of the line", at_);
        ++at_;
        skip_blanks();
        if (end_of_line()) fail("expected a number after the last comma", at_);
      }
      skip_end_of_line();
    }
    return numbers;
  }
  [[noreturn]] void fail(std::string_view what, std::size_t at) const {
    throw FormatError(fmt::format("{}: {}, line {} (byte {})", name_, what, line_, at));
  }
  /// Reports an error that concerns the whole line.
  [[noreturn]] void fail(std::string_view what) const { fail(what, line_begin_); }

 private:
  bool end_of_line() const {
    return at_ == text_.size() || text_[at_] == '\n' || text_[at_] == '\r';
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  void skip_end_of_line() {
    if (at_ < text_.size() && text_[at_] == '\r') ++at_;
    if (at_ < text_.size() && text_[at_] == '\n') ++at_;
  }
  std::int64_t number() {
    std::int64_t value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("expected an integer", at_);
    at_ = static_cast<std::size_t>(end - text_.data());
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return value;
  }

  std::string_view text_, name_;
  std::size_t at_ = 0, line_begin_ = 0;
  std::int64_t line_ = 0;
};

}  // namespace

ImageSet parse_image_csv(std::string_view text, std::string_view name,
                         const ImageCsvOptions& options) {
  if (options.highest < 1 || options.height < 0 || options.width < 0)
    throw ArgumentError("an image table needs height >= 0, width >= 0 and highest > 0");
  CsvReader reader(text, name);
  std::vector<float> pixels;
  ImageSet set;
  std::int64_t height = options.height, width = options.width, classes = 0;
  for (auto line = reader.next_line(); !line.empty(); line = reader.next_line()) {
    const auto found = static_cast<std::int64_t>(line.size()) - 1;
    if (height == 0 || width == 0) {
      height = width = std::llround(std::sqrt(static_cast<double>(found)));
      if (found < 1 || height * width != found)
        reader.fail(fmt::format(
            "{} pixels (followed or preceded by a class) do not form a square image", found));
    }
    if (found != height * width) {
      reader.fail(fmt::format("there are {} numbers, but {} x {} pixels and a class are {} numbers",
                              found + 1, height, width, height * width + 1));
    }
    const std::int64_t label = options.label_first ? line.front() : line.back();
    if (label < 0 || label >= kMaxClasses)
      reader.fail(fmt::format("class {} is not in [0, {})", label, kMaxClasses));
    line.erase(options.label_first ? line.begin() : line.end() - 1);
    for (const std::int64_t v : line) {
      if (v < 0 || v > options.highest)
        reader.fail(fmt::format("pixel {} is not in [0, {}]", v, options.highest));
      pixels.push_back(static_cast<float>(v) / static_cast<float>(options.highest));
    }
    set.labels.push_back(static_cast<std::int32_t>(label));
    classes = std::max(classes, label + 1);
  }
  if (set.labels.empty()) throw FormatError(fmt::format("{}: there are no images (byte 0)", name));
  set.images = Tensor::of({set.count(), 1, height, width}, pixels);
  for (std::int64_t c = 0; c < classes; ++c) set.classes.push_back(std::to_string(c));
  return set;
}

ImageSet read_image_csv(const std::string& path, const ImageCsvOptions& options) {
  std::string text = read_whole_file(path);
  text.erase(0, byte_order_mark(text, path));
  return parse_image_csv(text, path, options);
}

}  // namespace weft
