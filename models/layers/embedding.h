// Embedding layers: tokens and learned positions.
#pragma once

#include <optional>

#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

struct EmbeddingOptions {
  std::int64_t vocab = 0;  // rows of the table; required
  std::int64_t width = 0;  // size of a row; required
  DType dtype = DType::f32;
  /// Initialiser of the table. By default normal with standard deviation 0.02, as in BERT and GPT-2
  /// (Hugging Face's initializer_range), because transformers add the rows to positions and tie the
  /// table to the output layer. PyTorch's nn.Embedding has standard deviation 1.
  Initializer initializer = Initializer::normal(0.02);
  /// The embedding of this id receives no gradient from look-ups.
  std::optional<std::int64_t> padding_id = {};
};

/// An embedding table "<scope>.weight" [vocab, width] that can be used more than once, e.g. also by
/// a tied head.
struct Embedding {
  Scope scope;
  Variable weight;
  std::optional<std::int64_t> padding_id = {};

  /// Looks up ids, i32 or i64 [...], and returns their rows [..., width]. An id outside [0, vocab)
  /// throws DataError at run time.
  Value operator()(Value ids, SourceLocation loc = SourceLocation::current()) const;
};

/// Declares the table. Throws ArgumentError if vocab or width is missing.
Embedding make_embedding(const Scope& scope, const EmbeddingOptions& options,
                         SourceLocation loc = SourceLocation::current());

/// Declares a table and looks `ids` up in it: i32 or i64 [...] -> [..., width]. Takes one pass over
/// the result. The gradient needs only the ids and is a dense table [vocab, width], unless the
/// optimizer updates sparsely (StepOptions::sparse).
Value embedding(const Scope& scope, Value ids, const EmbeddingOptions& options,
                SourceLocation loc = SourceLocation::current());

struct PositionOptions {
  /// Number of positions; 0 means the size of the sequence axis, which must then be a constant.
  std::int64_t context = 0;
  /// Initialiser of the table. By default normal with standard deviation 0.02, as in
  /// EmbeddingOptions.
  Initializer initializer = Initializer::normal(0.02);
};

/// Returns learned position embeddings [seq, width], to be added to h [..., seq, width]: the first
/// seq rows of the table "<scope>.weight" [context, width]. A sequence longer than `context` is an
/// error at run time.
Value learned_positions(const Scope& scope, Value h, const PositionOptions& options = {},
                        SourceLocation loc = SourceLocation::current());

}  // namespace weft
