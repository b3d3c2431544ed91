// Texts that exceed the context of their model. They are truncated if there is a callback for
// truncation, else they are errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "weft/core/error.h"

namespace WEFT_API weft {

/// An error in one of several texts: "text 3: it has 62 tokens, ...".
class TextError : public DataError {
 public:
  /// `text` is an index from 0; messages count from 1.
  TextError(std::size_t text, const std::string& reason);
  [[noreturn]] void rethrow_as(const std::string& message) const override;

  std::size_t text() const { return text_; }
  /// The message without the number, for callers that have a better name for the text.
  const std::string& reason() const { return reason_; }

 private:
  std::size_t text_;
  std::string reason_;
};

/// A text that was truncated to the context of its model.
struct CutText {
  std::size_t text = 0;     // index among the given texts, from 0
  std::int64_t tokens = 0;  // number of tokens of the whole text, with special tokens
  std::int64_t kept = 0;    // number of tokens after truncation
};
/// Truncation callback, called for every text that is too long, in the order of the texts. Encoders
/// and encoder-decoders keep the beginning of the text, decoders its end. If the callback is empty,
/// a text that is too long is a TextError.
using OnCut = std::function<void(const CutText&)>;

/// Returns a callback that ignores truncation, for training and its evaluations.
inline OnCut ignore_truncation() {
  return [](const CutText&) {};
}

/// Calls `read`, and rethrows DataError and FormatError as a TextError with the index of the text.
template <class Read>
auto with_number(std::size_t text, Read&& read) {
  try {
    return read();
  } catch (const TextError&) {
    throw;
  } catch (const DataError& e) {
    throw TextError(text, e.what());
  } catch (const FormatError& e) {
    throw TextError(text, e.what());
  }
}

/// Calls `on_cut`, or throws a TextError if it is empty. `reader` is the part of the message that
/// names the reader of the text: "the model reads".
void report_truncation(const CutText& cut, const OnCut& on_cut,
                       std::string_view reader = "the model reads");

}  // namespace weft
