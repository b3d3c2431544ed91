#include "weft/models/vectors/word2vec_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/text/corpus/byte_stream.h"
#include "weft/models/text/unicode/utf8.h"
#include "weft/serialization/files/atomic_file.h"

namespace weft {
namespace {

constexpr std::string_view kFormats[] = {"text", "binary"};
constexpr std::size_t kFileBlock = std::size_t{1} << 16;
// Maximum length of a word in bytes.
constexpr std::size_t kMaxWordBytes = std::size_t{1} << 16;
constexpr std::int64_t kMaxWidth = std::int64_t{1} << 24;

/// Reads the bytes of a file with lookahead.
class FileBytes {
 public:
  explicit FileBytes(const std::string& path) : stream_(path) {}

  /// Returns the next `count` bytes, or fewer at the end of the file, without consuming them.
  std::string_view peek(std::size_t count) {
    while (buffer_.size() - used_ < count && fill()) {
    }
    return std::string_view(buffer_).substr(used_, count);
  }
  void skip(std::size_t count) {
    used_ += count;
    offset_ += count;
  }
  /// Consumes the text up to `end` and `end` itself, and returns the text. Returns nullopt if
  /// neither the rest of the file nor its next `most` bytes contain `end`.
  std::optional<std::string> read_until(char end, std::size_t most) {
    for (std::size_t size = 64;; size *= 2) {
      const std::string_view available = peek(std::min(size, most));
      const std::size_t at = available.find(end);
      if (at != std::string_view::npos) {
        std::string text(available.substr(0, at));
        skip(at + 1);
        return text;
      }
      if (available.size() < size) return std::nullopt;
    }
  }
  std::uint64_t offset() const { return offset_; }

 private:
  bool fill() {
    buffer_.erase(0, std::exchange(used_, 0));
    const std::size_t available = buffer_.size();
    buffer_.resize(available + kFileBlock);
    const std::size_t got = stream_.read(buffer_.data() + available, kFileBlock);
    buffer_.resize(available + got);
    return got > 0;
  }

  ByteStream stream_;
  std::string buffer_;
  std::size_t used_ = 0;
  std::uint64_t offset_ = 0;
};

/// Consumes blanks and a finite number. Returns nullopt if there is no such number.
std::optional<float> parse_number(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty() && text.front() != ' ' && text.front() != '\t' && text.front() != '\r')
    return std::nullopt;
  return value;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r") == std::string_view::npos;
}

/// Returns true if the bytes are readable text, in contrast to the bytes of float values.
bool is_readable(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const int size = examine_character(bytes, at);
    const auto byte = static_cast<unsigned char>(bytes[at]);
    if (size <= 0 || byte == 0x7F || (byte < 0x20 && (byte < '\t' || byte > '\r'))) return false;
    at += static_cast<std::size_t>(size);
  }
  return true;
}

class VectorReader {
 public:
  explicit VectorReader(const std::string& path) : path_(path), bytes_(path) {}

  /// Returns true if the first word is valid. Two numbers on the first line are not enough, because
  /// other tables also begin with them.
  bool begins_with_valid_word() {
    read_header();
    if (is_text()) {
      read_line(0);
      return true;
    }
    read_record(0);
    return std::all_of(values_.begin(), values_.end(), [](float x) { return std::isfinite(x); }) &&
           !is_readable({reinterpret_cast<const char*>(values_.data()), 4 * values_.size()});
  }

  WordVectors read() {
    read_header();
    const bool text = is_text();
    for (std::int64_t i = 0; i < words_; ++i) text ? read_line(i) : read_record(i);
    // After the last word, only a line break is allowed.
    const std::string_view rest = bytes_.peek(2);
    if (rest.size() > 1 || (rest.size() == 1 && rest != "\n"))
      fail(fmt::format("the file continues after the {} words that its first line declares",
                       words_));
    try {
      return WordVectors(std::move(names_), Tensor::of<float>({words_, width_}, values_));
    } catch (const ArgumentError& e) {
      throw FormatError(fmt::format("{}: {}", path_, e.what()));
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw FormatError(fmt::format("{}, byte {}: {}", path_, bytes_.offset(), what));
  }
  [[noreturn]] void fail_line(std::int64_t i, const std::string& what) const {
    throw FormatError(fmt::format("{}:{}: {}", path_, i + 2, what));
  }

  void read_header() {
    const std::string line = bytes_.read_until('\n', 64).value_or("");
    std::string_view rest = line;
    const auto number = [&](std::int64_t most) {
      rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
      if (error != std::errc() || value < 1 || value > most) value = 0;
      rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
      return value;
    };
    words_ = number(std::int64_t{1} << 40);
    width_ = number(kMaxWidth);
    if (words_ == 0 || width_ == 0 || !is_blank(rest)) {
      throw FormatError(
          fmt::format("{}: the first line of a word embedding file must contain the number of "
                      "words and the width",
                      path_));
    }
  }

  /// Returns true if the line of the first word consists of the word and decimal numbers, as in the
  /// text format.
  bool is_text() {
    const std::size_t most = kMaxWordBytes + 64 * static_cast<std::size_t>(width_);
    std::string_view available;
    for (std::size_t size = 4096;; size *= 2) {
      available = bytes_.peek(std::min(size, most));
      if (available.find('\n') != std::string_view::npos || available.size() < size) break;
    }
    std::string_view line = available.substr(0, available.find('\n'));
    line.remove_prefix(std::min(line.find(' '), line.size()));
    if (is_blank(line)) return false;
    while (!is_blank(line)) {
      if (!parse_number(line)) return false;
    }
    return true;
  }

  void read_line(std::int64_t i) {
    const std::size_t most = kMaxWordBytes + 64 * static_cast<std::size_t>(width_);
    std::optional<std::string> line = bytes_.read_until('\n', most);
    if (!line && !bytes_.peek(1).empty() && bytes_.peek(most).size() < most) {
      line = std::string(bytes_.peek(most));  // the last line, without a line break
      bytes_.skip(line->size());
    }
    if (!line) fail_line(i, fmt::format("expected word {} of {}", i + 1, words_));
    std::string_view rest = *line;
    const std::size_t blank = std::min(rest.find(' '), rest.size());
    names_.emplace_back(rest.substr(0, blank));
    rest.remove_prefix(blank);
    for (std::int64_t k = 0; k < width_; ++k) {
      const std::optional<float> value = parse_number(rest);
      if (!value) {
        fail_line(i, fmt::format("expected a word and {} finite numbers, but number {} is invalid",
                                 width_, k + 1));
      }
      values_.push_back(*value);
    }
    if (!is_blank(rest)) fail_line(i, fmt::format("the line has more than {} numbers", width_));
  }

  void read_record(std::int64_t i) {
    // Some writers end each word's numbers with a line break, others do not.
    if (bytes_.peek(1) == "\n") bytes_.skip(1);
    std::optional<std::string> word = bytes_.read_until(' ', kMaxWordBytes);
    if (!word) fail(fmt::format("expected word {} of {} and a space", i + 1, words_));
    const std::size_t size = static_cast<std::size_t>(width_) * sizeof(float);
    const std::string_view available = bytes_.peek(size);
    if (available.size() < size)
      fail(fmt::format("the file ends within the numbers of word {} of {}", i + 1, words_));
    const std::size_t before = values_.size();
    values_.resize(before + static_cast<std::size_t>(width_));
    std::memcpy(values_.data() + before, available.data(), size);
    bytes_.skip(size);
    names_.push_back(*std::move(word));
  }

  std::string path_;
  FileBytes bytes_;
  std::int64_t words_ = 0, width_ = 0;
  std::vector<std::string> names_;
  std::vector<float> values_;  // grows with the data: the sizes in the first line are not trusted
};

}  // namespace

ChoiceNames choice_names(VectorFormat) { return {"the format of vectors", kFormats}; }

void write_word_vectors(const std::string& path, const WordVectors& vectors, VectorFormat format) {
  AtomicFile file(path);
  std::string block = fmt::format("{} {}\n", vectors.size(), vectors.width());
  for (std::int64_t i = 0; i < vectors.size(); ++i) {
    const std::span<const float> numbers = vectors.vector(i);
    block += vectors.words()[static_cast<std::size_t>(i)];
    if (format == VectorFormat::binary) {
      block += ' ';
      block.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
    } else {
      for (const float x : numbers) fmt::format_to(std::back_inserter(block), " {}", x);
    }
    block += '\n';
    if (block.size() < kFileBlock) continue;
    file.write(block.data(), block.size());
    block.clear();
  }
  file.write(block.data(), block.size());
  file.commit();
}

WordVectors read_word_vectors(const std::string& path) { return VectorReader(path).read(); }

bool is_word_vectors(const std::string& path) {
  try {
    return VectorReader(path).begins_with_valid_word();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace weft
