// A decoder of the GPT family as a LanguageNetwork.
#pragma once

#include "weft/models/families/gpt.h"
#include "weft/models/language/network.h"

namespace WEFT_API weft {

/// A Gpt (families/gpt.h) below `scope`. Its state consists of the keys and values of all tokens of
/// a text. A step is therefore more expensive for longer texts, and a text is limited to `context`
/// tokens; a step() beyond this limit throws DataError at run time. The mode of the scope
/// determines whether dropout is applied; a step() is always evaluation.
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
