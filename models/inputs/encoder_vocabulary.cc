#include "weft/models/inputs/encoder_vocabulary.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft {

void check_vocabulary(const EncoderConfig& config, const Tokenizer& tokenizer) {
  if (config.vocab < tokenizer.vocab_size() || config.padding_id != tokenizer.pad_id()) {
    throw ArgumentError(
        fmt::format("the model has {} vocabulary entries and padding id {}, but the tokenizer has "
                    "{} entries and "
                    "padding id {}",
                    config.vocab, config.padding_id, tokenizer.vocab_size(), tokenizer.pad_id()));
  }
}

}  // namespace weft
