// Language models as networks, all with one interface: what is trained, measured and generated with
// does not know which one it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/graph/ir/program.h"
#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

/// A model of the next token, from those before it in its row. Its parameters are f32 variables
/// below its scope, declared when it is made; it may be applied as often as programs need it.
class LanguageNetwork {
 public:
  LanguageNetwork(Scope scope, std::int64_t vocab);
  virtual ~LanguageNetwork() = default;
  LanguageNetwork(const LanguageNetwork&) = delete;
  LanguageNetwork& operator=(const LanguageNetwork&) = delete;

  const Scope& scope() const { return scope_; }
  /// Ids are from 0 to vocab - 1.
  std::int64_t vocab() const { return vocab_; }

  /// Logits f32 [batch, time, vocab] of the token that follows each of `tokens` (i32 or i64 [batch,
  /// time]), from those of its row up to it: the whole sequence at once. A row begins a text.
  virtual Value operator()(Value tokens, SourceLocation loc = SourceLocation::current()) const = 0;

  /// The same, [batch, vocab] behind the last of `tokens`, where these go on with texts whose state
  /// is in variables of kind cache below the scope: `updates` gets their new values. Texts begin
  /// where the caches are new (Session::reset_caches). Once per graph.
  virtual Value step(Value tokens, Updates* updates,
                     SourceLocation loc = SourceLocation::current()) const = 0;

  /// Tokens that a text may have, which step() counts; absent: any number.
  virtual std::optional<std::int64_t> longest() const { return std::nullopt; }

 private:
  Scope scope_;
  std::int64_t vocab_;
};

/// A piece of a state: a tensor that is zero where a text begins.
struct StatePart {
  std::string name;
  ValueType type;
};

/// What a piece of a text comes to.
struct Reading {
  Value logits;              // [batch, time, vocab]
  std::vector<Value> state;  // behind its last token, part by part
};

/// A network that knows of a text, however long, no more than a state of fixed size: what it has
/// read can be carried from one piece of the text to the next.
class CarryingNetwork : public LanguageNetwork {
 public:
  using LanguageNetwork::LanguageNetwork;

  /// The state of that many rows.
  virtual std::vector<StatePart> state(const Dim& batch) const = 0;
  /// Reads tokens (i32 or i64 [batch, time]) that go on from `state`.
  virtual Reading read(Value tokens, const std::vector<Value>& state,
                       SourceLocation loc = SourceLocation::current()) const = 0;

  Value operator()(Value tokens, SourceLocation loc = SourceLocation::current()) const final;
  /// By read(), from the state in the caches.
  Value step(Value tokens, Updates* updates,
             SourceLocation loc = SourceLocation::current()) const final;

  /// Truncated back-propagation through time (Williams and Peng 1990): the logits of the next piece
  /// [batch, time] of each row's text, from the state in variables "<scope>.carried.*" of kind
  /// buffer, through which no gradient passes; `updates` gets their new values. `fresh`, a bool
  /// scalar, is true where texts begin: the state is then zero. Files keep the state, so that a run
  /// that is resumed goes on as one that was not. The batch must be a constant (ShapeError). Once
  /// per graph.
  Value go_on(Value tokens, Value fresh, Updates* updates,
              SourceLocation loc = SourceLocation::current()) const;
};

}  // namespace weft
