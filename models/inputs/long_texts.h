// Texts that exceed the context of a model. They are truncated if a truncation callback is set;
// otherwise they are errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "weft/core/error.h"
#include "weft/models/text/tokenizers/base/truncation.h"

namespace WEFT_API weft {

/// An error in one of several texts. The message starts with the text number: "text 3: it has 62
/// tokens, ...".
class TextError : public DataError {
 public:
  /// `text` is a zero-based index; the text number in messages starts from 1.
  TextError(std::size_t text, const std::string& reason);
  [[noreturn]] void rethrow_as(const std::string& message) const override;

  std::size_t text() const { return text_; }
  /// Returns the message without the text number, for callers that identify the text in another
  /// way.
  const std::string& reason() const { return reason_; }

 private:
  std::size_t text_;
  std::string reason_;
};

/// A text that was truncated to the context of its model.
struct CutText {
  std::size_t text = 0;     // zero-based index among the given texts
  std::int64_t tokens = 0;  // number of tokens in the whole text, including special tokens
  std::int64_t kept = 0;    // number of tokens after truncation
  /// The end of an encoder's text at which it was truncated.
  TextEnd side = TextEnd::right;
};
/// Truncation callback. It is called for each text that is too long, in text order.
/// Encoders and encoder-decoders keep the beginning of the text, and decoders keep the end.
/// Encoders with TextReading::truncation_side "left" also keep the end. If the callback is empty, a
/// text that is too long causes a TextError.
using OnCut = std::function<void(const CutText&)>;

/// Returns a callback that does nothing, for training and the evaluations during training.
inline OnCut ignore_truncation() {
  return [](const CutText&) {};
}

/// Calls `read`. Rethrows a DataError or FormatError as a TextError with the index of the text.
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

/// Calls `on_cut` if it is set; otherwise throws a TextError. `reader` is inserted into the message
/// before the maximum number of tokens, for example "the model accepts".
void report_truncation(const CutText& cut, const OnCut& on_cut,
                       std::string_view reader = "the model accepts");

}  // namespace weft
