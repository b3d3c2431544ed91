#include "weft/models/text/tokenizers/train/word_piece_trainer.h"

#include "weft/models/text/tokenizers/train/bpe_trainer.h"

namespace weft {

std::vector<std::string> train_word_pieces(const WordTable& words,
                                           const WordPieceTrainerOptions& options) {
  return train_bpe(words, {.vocab = options.vocab,
                           .min_frequency = options.min_frequency,
                           .special_tokens = options.special_tokens,
                           .initial_alphabet = options.initial_alphabet,
                           .limit_alphabet = options.limit_alphabet,
                           .continuing_subword_prefix = options.continuing_subword_prefix,
                           .end_of_word_suffix = options.end_of_word_suffix})
      .pieces;
}

}  // namespace weft
