// A decoder of the GPT family as one language model among others.
#pragma once

#include "weft/models/families/gpt.h"
#include "weft/models/language/network.h"

namespace WEFT_API weft {

/// Gpt (families/gpt.h) below `scope`. What it knows of a text are the keys and values of all its
/// tokens, so that a step costs more the longer the text is, and `context` ends it: step() beyond
/// is a DataError of the run.
class TransformerNetwork final : public LanguageNetwork {
 public:
  TransformerNetwork(const Scope& scope, const GptConfig& config);

  Value operator()(Value tokens, SourceLocation loc = SourceLocation::current()) const override;
  Value step(Value tokens, Updates* updates,
             SourceLocation loc = SourceLocation::current()) const override;
  std::optional<std::int64_t> longest() const override { return gpt_.config().context; }

 private:
  Gpt gpt_;
};

}  // namespace weft
