#include "weft/models/generate/structured/characters.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "weft/models/text/unicode/characters.h"

namespace weft::structured {
namespace {

/// Emits sequences of byte ranges that end in one state, and shares their last states.
class ByteSequences {
 public:
  ByteSequences(GrammarBuilder& grammar, std::int32_t from)
      : grammar_(grammar), from_(from), to_(grammar.add_state()) {}

  /// Adds the characters first .. last in UTF-8.
  void add(char32_t first, char32_t last) {
    // Splits the range until its characters are all combinations of byte ranges.
    for (const char32_t end : {0x7Fu, 0x7FFu, 0xFFFFu}) {
      if (first <= end && end < last) {
        add(first, end);
        add(end + 1, last);
        return;
      }
    }
    for (int bits = 6; bits <= 18 && first >= 0x80; bits += 6) {
      const char32_t low = (char32_t{1} << bits) - 1;
      if ((first | low) == (last | low)) break;
      if ((first & low) != 0) {
        add(first, first | low);
        add((first | low) + 1, last);
        return;
      }
      if ((last & low) != low) {
        add(first, (last & ~low) - 1);
        add(last & ~low, last);
        return;
      }
    }
    const std::string a = utf8(first), b = utf8(last);
    std::int32_t to = to_;
    for (std::size_t i = a.size(); i-- > 0;) {
      const auto low = static_cast<std::uint8_t>(a[i]), high = static_cast<std::uint8_t>(b[i]);
      if (i == 0) {
        grammar_.bytes(from_, low, high, to);
      } else {
        const auto [found, is_new] = shared_.try_emplace({low, high, to}, 0);
        if (is_new) {
          found->second = grammar_.add_state();
          grammar_.bytes(found->second, low, high, to);
        }
        to = found->second;
      }
    }
  }

  void add_text(std::string_view text) { grammar_.empty(grammar_.text(from_, text), to_); }
  std::int32_t to() const { return to_; }

 private:
  GrammarBuilder& grammar_;
  std::int32_t from_, to_;
  std::map<std::tuple<std::uint8_t, std::uint8_t, std::int32_t>, std::int32_t> shared_;
};

}  // namespace

CharacterSet::CharacterSet(std::initializer_list<Range> ranges) : ranges_(ranges) { normalize(); }

void CharacterSet::add(const CharacterSet& other) {
  ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
  normalize();
}

CharacterSet CharacterSet::complement() const {
  CharacterSet result;
  char32_t next = 0;
  for (const Range& range : ranges_) {
    if (range.first > next) result.ranges_.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= 0x10FFFF) result.ranges_.push_back({next, 0x10FFFF});
  result.normalize();
  return result;
}

CharacterSet CharacterSet::intersection(const CharacterSet& other) const {
  CharacterSet result;
  for (std::size_t i = 0, j = 0; i < ranges_.size() && j < other.ranges_.size();) {
    const Range a = ranges_[i], b = other.ranges_[j];
    const char32_t first = std::max(a.first, b.first), last = std::min(a.last, b.last);
    if (first <= last) result.ranges_.push_back({first, last});
    ++(a.last < b.last ? i : j);
  }
  return result;
}

void CharacterSet::normalize() {
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.first < b.first; });
  std::vector<Range> joined;
  const auto append = [&](char32_t first, char32_t last) {
    if (first > last) return;
    if (!joined.empty() && first <= joined.back().last + 1) {
      joined.back().last = std::max(joined.back().last, last);
    } else {
      joined.push_back({first, last});
    }
  };
  for (const auto& [first, last] : ranges_) {
    append(first, std::min<char32_t>(last, 0xD7FF));
    append(std::max<char32_t>(first, 0xE000), last);
  }
  ranges_ = std::move(joined);
}

std::int32_t emit_character(GrammarBuilder& grammar, std::int32_t from, const CharacterSet& set,
                            TextForm form) {
  ByteSequences sequences(grammar, from);
  for (auto [first, last] : set.ranges()) {
    if (form == TextForm::json_string) {
      for (; first <= last && first < 0x20; ++first) {
        constexpr std::string_view kShort = "\b\f\n\r\t", kNames = "bfnrt";
        const std::size_t name = kShort.find(static_cast<char>(first));
        sequences.add_text(name < kShort.size() ? std::string{'\\', kNames[name]}
                                                : fmt::format("\\u{:04x}", std::uint32_t{first}));
      }
      for (const char32_t escaped : {U'"', U'\\'}) {
        if (first > escaped || escaped > last) continue;
        sequences.add_text(std::string{'\\', static_cast<char>(escaped)});
        if (first < escaped) sequences.add(first, escaped - 1);
        first = escaped + 1;
      }
    }
    if (first <= last) sequences.add(first, last);
  }
  return sequences.to();
}

}  // namespace weft::structured
