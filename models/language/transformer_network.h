// A decoder of the GPT family as a LanguageNetwork.
#pragma once

#include "weft/models/families/gpt.h"
#include "weft/models/language/network.h"

namespace WEFT_API weft {

/// A Gpt (families/gpt.h) below `scope`. Its memory of a text is the keys and values of all tokens,
/// so that a step costs more the longer the text is, and a text is limited to `context` tokens:
/// step() beyond that throws DataError at run time.
class TransformerNetwork final : public LanguageNetwork {
 public:
  TransformerNetwork(const Scope& scope, const GptConfig& config);

  Value operator()(Value tokens, SourceLocation loc = SourceLocation::current()) const override;
  Value step(Value tokens, Updates* updates,
             SourceLocation loc = SourceLocation::current()) const override;
  std::optional<std::int64_t> max_length() const override { return gpt_.config().context; }

 private:
  Gpt gpt_;
};

}  // namespace weft
