// A loop that generates texts, driven by the caller.
#pragma once

#include <cstddef>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/generate/generation.h"
#include "weft/models/inputs/long_texts.h"
#include "weft/models/tasks/common/uses.h"
#include "weft/models/text/tokenizers/text_stream.h"
#include "weft/models/text/tokenizers/tokenizer.h"

namespace WEFT_API weft {

class TextGenerator;

/// Iterates over the pieces that source.next() returns.
template <class Source>
class PieceIterator {
 public:
  explicit PieceIterator(Source& source) : source_(&source), piece_(source.next()) {}
  const auto& operator*() const { return *piece_; }
  PieceIterator& operator++() {
    piece_ = source_->next();
    return *this;
  }
  bool operator==(std::default_sentinel_t) const { return !piece_; }

 private:
  Source* source_;
  decltype(std::declval<Source&>().next()) piece_;
};

/// New text of a row. Row prompt * results + result is one of the results for a prompt.
struct TextPiece {
  std::size_t row = 0;
  std::string text;  // whole characters, except at the end of a row; may be empty

  operator std::string_view() const { return text; }
};

/// Texts that are being generated (TextGenerator::generate). Generation advances with every call of
/// next(), and may be stopped at any time:
///
///   for (std::string_view text : generator.generate({"Once upon a time"})) std::cout << text;
///
/// A row ends at an end id, a stop text, a stop sequence or the maximum length. A TextGenerator
/// serves one TextGeneration at a time.
class TextGeneration {
 public:
  /// Returns the new text of the next id of any row, or nothing at the end. Text is held back until
  /// it is final and consists of whole characters; the rest of a row's text is returned when its
  /// batch has ended. With beams, text is returned as soon as all beams agree on it; if there are
  /// several results, it is returned at the end. Throws the same exceptions as Generation::next().
  std::optional<TextPiece> next();
  /// Ends a row after the ids whose text next() has returned. Has no effect if the row has ended or
  /// its batch has not started.
  void stop(std::size_t row);
  /// Generates all remaining texts. Returns the results for all prompts in prompt order; the
  /// results for each prompt are sorted best first. If the session's World has several ranks and
  /// next() was not called, each rank generates a part of the texts and every rank returns all of
  /// them.
  std::vector<WrittenText> run();
  /// Returns the prompts that were truncated (GenerationOptions::truncate).
  const std::vector<CutText>& truncated() const { return truncated_; }

  PieceIterator<TextGeneration> begin() { return PieceIterator(*this); }
  std::default_sentinel_t end() const { return {}; }

 private:
  friend class TextGenerator;
  /// Prompts that are processed together, as indices, and their options.
  struct Batch {
    std::vector<std::size_t> prompts;
    GenerationOptions options;
  };
  /// A row of the current batch.
  struct Row {
    std::size_t prompt, number;  // index of the prompt; index of the row among all rows
    TextStream text;
    TokenIds ids = {};  // the new ids
    bool cancelled = false;
  };

  TextGeneration(TextGenerator& generator, std::vector<TokenIds> prompts,
                 const GenerationOptions& options);
  void start_batch();
  void finish_batch();
  /// Generates the texts of a batch without returning their pieces.
  void run_batch(std::size_t batch);
  /// Returns the first ids of the sequences for a prompt.
  const TokenIds& front(std::size_t prompt) const;

  TextGenerator* generator_;
  std::vector<TokenIds> prompts_;
  TokenIds start_;  // first ids of encoder-decoder outputs
  std::vector<std::string> stop_texts_;
  std::vector<CutText> truncated_;
  std::vector<Batch> batches_;
  std::unique_ptr<const Tokenizer> tokenizer_;     // for outputs; null if the model has none
  std::size_t batch_ = 0;                          // the current or next batch
  std::optional<Generation> ids_;                  // of the current batch
  std::vector<Row> rows_;                          // of the current batch
  std::deque<TextPiece> rest_;                     // last pieces of the rows of the previous batch
  std::vector<std::vector<WrittenText>> results_;  // for each prompt
};

}  // namespace weft
