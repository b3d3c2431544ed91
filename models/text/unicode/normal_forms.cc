#include "weft/models/text/unicode/normal_forms.h"

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/utf16.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/text/unicode/characters.h"

namespace weft {
namespace {

const UNormalizer2* instance(UnicodeForm form) {
  UErrorCode status = U_ZERO_ERROR;
  const UNormalizer2* found = nullptr;
  switch (form) {
    case UnicodeForm::nfc: found = unorm2_getNFCInstance(&status); break;
    case UnicodeForm::nfd: found = unorm2_getNFDInstance(&status); break;
    case UnicodeForm::nfkc: found = unorm2_getNFKCInstance(&status); break;
    case UnicodeForm::nfkd: found = unorm2_getNFKDInstance(&status); break;
  }
  if (U_FAILURE(status)) throw StateError("ICU has no data for Unicode normalisation forms");
  return found;
}

bool composes(UnicodeForm form) { return form == UnicodeForm::nfc || form == UnicodeForm::nfkc; }

/// Returns true for characters that exist in Unicode 12.0, the version that Hugging Face's
/// tokenizers library, the reference implementation, uses. In this version, newer characters have
/// neither a decomposition nor a combining class.
bool is_known(char32_t c) {
  if (c < 0x300) return true;
  UVersionInfo age;
  u_charAge(static_cast<UChar32>(c), age);
  return age[0] < 12 || (age[0] == 12 && age[1] == 0);
}

std::uint8_t combining_class(char32_t c) {
  return c < 0x300 || !is_known(c) ? std::uint8_t{0} : u_getCombiningClass(static_cast<UChar32>(c));
}

/// An output character and its relation to the input: 0 if it replaces one character, 1 if it is
/// inserted, and -n if it replaces a character and the n characters after it.
struct Changed {
  char32_t c;
  int change;
};

/// Produces the full decomposition of a text in canonical order, one character at a time.
class Decomposer {
 public:
  Decomposer(std::string_view text, UnicodeForm form)
      : text_(text),
        data_(instance(form == UnicodeForm::nfc || form == UnicodeForm::nfd ? UnicodeForm::nfd
                                                                            : UnicodeForm::nfkd)) {}

  /// Returns the next character, or std::nullopt at the end.
  std::optional<Changed> next() {
    while (ready_ == given_) {
      if (given_ > 0) {
        buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(given_));
        ready_ = given_ = 0;
      }
      if (at_ == text_.size()) {
        if (buffer_.empty()) return std::nullopt;
        sort();
        break;
      }
      decompose(take_character(text_, at_));
    }
    return buffer_[given_++].changed;
  }

 private:
  struct Pending {
    std::uint8_t combining;
    Changed changed;
  };

  void decompose(char32_t c) {
    if (c < 0x80 || !is_known(c)) return push({c, 0});
    std::array<UChar, 64> parts{};
    UErrorCode status = U_ZERO_ERROR;
    const std::int32_t size =
        unorm2_getDecomposition(data_, static_cast<UChar32>(c), parts.data(),
                                static_cast<std::int32_t>(parts.size()), &status);
    if (size < 0 || U_FAILURE(status)) return push({c, 0});
    for (std::int32_t i = 0; i < size;) {
      const int change = i == 0 ? 0 : 1;
      UChar32 part = 0;
      U16_NEXT(parts, i, size, part);
      push({static_cast<char32_t>(part), change});
    }
  }

  void push(Changed changed) {
    const std::uint8_t combining = combining_class(changed.c);
    if (combining == 0) sort();
    buffer_.push_back({combining, changed});
    if (combining == 0) ready_ = buffer_.size();
  }

  // Sorts the marks after the last starter by combining class.
  void sort() {
    std::stable_sort(buffer_.begin() + static_cast<std::ptrdiff_t>(ready_), buffer_.end(),
                     [](const Pending& a, const Pending& b) { return a.combining < b.combining; });
    ready_ = buffer_.size();
  }

  std::string_view text_;
  const UNormalizer2* data_;
  std::size_t at_ = 0;
  std::vector<Pending> buffer_;
  std::size_t ready_ = 0, given_ = 0;
};

/// Performs canonical composition (UAX 15) of the output of a Decomposer.
class Composer {
 public:
  Composer(std::string_view text, UnicodeForm form)
      : parts_(text, form), data_(instance(UnicodeForm::nfc)) {}

  /// Calls `write` for each character.
  template <class Write>
  void run(const Write& write) {
    while (const std::optional<Changed> next = parts_.next()) {
      const std::uint8_t combining = combining_class(next->c);
      if (!starter_) {
        if (combining != 0) {
          write(*next);
        } else {
          starter_ = *next;
        }
        continue;
      }
      const bool blocked = last_ && *last_ >= combining;
      if (!blocked) {
        const UChar32 both = unorm2_composePair(data_, static_cast<UChar32>(starter_->c),
                                                static_cast<UChar32>(next->c));
        if (both >= 0 && is_known(static_cast<char32_t>(both))) {
          starter_ = Changed{static_cast<char32_t>(both), starter_->change + next->change - 1};
          continue;
        }
      }
      if (combining == 0) {
        flush(write);
        starter_ = *next;
      } else {
        marks_.push_back(*next);
        last_ = combining;
      }
    }
    flush(write);
  }

 private:
  template <class Write>
  void flush(const Write& write) {
    if (starter_) write(*starter_);
    for (const Changed& mark : marks_) write(mark);
    starter_.reset();
    marks_.clear();
    last_.reset();
  }

  Decomposer parts_;
  const UNormalizer2* data_;
  std::optional<Changed> starter_;
  std::vector<Changed> marks_;        // marks after the starter that have not been composed with it
  std::optional<std::uint8_t> last_;  // combining class of the last such mark
};

void write_changed(TextEdit& edit, const Changed& changed) {
  if (changed.change > 0) return edit.add(changed.c);
  // Because marks may be reordered, the old text may end before all replacements have been written.
  if (edit.at_end()) return edit.add(changed.c);
  edit.replace(changed.c);
  for (int i = changed.change; i < 0 && !edit.at_end(); ++i)
    edit.drop(character_size(edit.rest().front()));
}

}  // namespace

bool is_in_form(std::string_view text, UnicodeForm form) {
  const UNormalizer2* data = nullptr;
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    if (data == nullptr) data = instance(form);
    // An inert character is unchanged in any context.
    if (unorm2_isInert(data, static_cast<UChar32>(take_character(text, at))) == 0) return false;
  }
  return true;
}

void write_in_form(TextEdit& edit, UnicodeForm form) {
  const std::string_view text = edit.rest();
  if (composes(form)) {
    Composer(text, form).run([&](const Changed& changed) { write_changed(edit, changed); });
  } else {
    Decomposer parts(text, form);
    while (const std::optional<Changed> next = parts.next()) write_changed(edit, *next);
  }
}

}  // namespace weft
