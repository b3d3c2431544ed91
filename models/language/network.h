// The common interface of neural language models. Training, evaluation and generation use all of
// them through this interface.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/graph/ir/program.h"
#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

/// A model that predicts the next token from the tokens before it in its row. Its parameters are
/// f32 variables below its scope, which the constructor declares. Programs can apply it any number
/// of times.
class LanguageNetwork {
 public:
  LanguageNetwork(Scope scope, std::int64_t vocab);
  virtual ~LanguageNetwork() = default;
  LanguageNetwork(const LanguageNetwork&) = delete;
  LanguageNetwork& operator=(const LanguageNetwork&) = delete;

  const Scope& scope() const { return scope_; }
  /// Token ids are in [0, vocab).
  std::int64_t vocab() const { return vocab_; }

  /// Returns logits f32 [batch, time, vocab]: for each of `tokens` (i32 or i64 [batch, time]), the
  /// prediction of the next token from the tokens of its row up to this one. Processes whole
  /// sequences at once; every row begins a text.
  virtual Value operator()(Value tokens, SourceLocation loc = SourceLocation::current()) const = 0;

  /// Incremental form: returns logits [batch, vocab] after the last of `tokens`. The tokens
  /// continue the texts whose state is stored in variables of kind cache below the scope. `updates`
  /// receives the new state. Resetting the caches begins new texts (Session::reset_caches). May be
  /// called once per graph.
  virtual Value step(Value tokens, Updates* updates,
                     SourceLocation loc = SourceLocation::current()) const = 0;

  /// Maximum number of tokens of a text across calls of step(); unlimited if absent.
  virtual std::optional<std::int64_t> max_length() const { return std::nullopt; }

 private:
  Scope scope_;
  std::int64_t vocab_;
};

/// Name and type of one tensor of the state. The tensor is zero at the beginning of a text.
struct StateSpec {
  std::string name;
  ValueType type;
};

/// Result of processing one chunk of text: the logits and the state after the chunk.
struct ChunkResult {
  Value logits;              // [batch, time, vocab]
  std::vector<Value> state;  // after the last token, one value per StateSpec
};

/// A network that summarises the text so far in a state of fixed size. A text can therefore be
/// processed in chunks, with the state carried over between them.
class StatefulNetwork : public LanguageNetwork {
 public:
  using LanguageNetwork::LanguageNetwork;

  /// Describes the state for `batch` rows.
  virtual std::vector<StateSpec> state(const Dim& batch) const = 0;
  /// Applies the network to tokens (i32 or i64 [batch, time]) that continue from `state`.
  virtual ChunkResult read(Value tokens, const std::vector<Value>& state,
                           SourceLocation loc = SourceLocation::current()) const = 0;

  Value operator()(Value tokens, SourceLocation loc = SourceLocation::current()) const final;
  /// Applies read() to the state in the caches.
  Value step(Value tokens, Updates* updates,
             SourceLocation loc = SourceLocation::current()) const final;

  /// Truncated back-propagation through time (Williams and Peng 1990). Returns the logits of the
  /// next chunk [batch, time] of each row's text. The state before the chunk is in the variables
  /// "<scope>.carried.*" of kind buffer, and no gradient passes through it; `updates` receives the
  /// state after the chunk. `fresh`, a bool scalar, is true at the beginning of new texts, which
  /// start from a zero state. Checkpoints contain the state, so a resumed run is identical to an
  /// uninterrupted one. The batch size must be a constant (ShapeError). May be called once per
  /// graph.
  Value continue_text(Value tokens, Value fresh, Updates* updates,
                      SourceLocation loc = SourceLocation::current()) const;
};

}  // namespace weft
