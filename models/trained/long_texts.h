// Texts that are longer than their model reads: errors, or cut where somebody listens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "weft/core/error.h"

namespace WEFT_API weft {

/// Something is wrong with one of several texts: "text 3: it has 62 tokens, ...".
class TextError : public DataError {
 public:
  /// `text` counts from 0, messages from 1.
  TextError(std::size_t text, const std::string& reason);
  [[noreturn]] void rethrow_as(const std::string& message) const override;

  std::size_t text() const { return text_; }
  /// The message without the number: for who knows a better name of the text.
  const std::string& reason() const { return reason_; }

 private:
  std::size_t text_;
  std::string reason_;
};

/// A text that was cut to what its model reads.
struct CutText {
  std::size_t text = 0;     // its number among those that were given, from 0
  std::int64_t tokens = 0;  // of the whole, with those around it
  std::int64_t kept = 0;    // of them
};
/// Is told of every text that is too long, in their order, and it is cut: encoders and
/// encoder-decoders read its beginning, decoders go on from its end. Where there is none, such a
/// text is a TextError.
using OnCut = std::function<void(const CutText&)>;

/// For who cuts texts anyway: training, and what measures it.
inline OnCut cut_unheard() {
  return [](const CutText&) {};
}

/// Calls `read`; what is wrong with the text that it reads becomes a TextError with its number.
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

/// Tells `on_cut`; throws the TextError where it is empty. `reader` says in the message what reads
/// no more: "the model reads".
void cut_or_throw(const CutText& cut, const OnCut& on_cut,
                  std::string_view reader = "the model reads");

}  // namespace weft
