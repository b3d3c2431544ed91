// The inference tasks of models.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "weft/models/fields/choice.h"

namespace WEFT_API weft {

/// An inference task, named after its `weft` command.
enum class Use : std::uint8_t {
  classify,
  tag,
  fill,
  answer,
  embed,
  rerank,
  generate,
  chat,
  score,
  translate,
  transcribe,
};
inline constexpr std::array<std::string_view, 11> kUseNames = {
    "classify", "tag",  "fill",  "answer",    "embed",     "rerank",
    "generate", "chat", "score", "translate", "transcribe"};
/// The end of the error message for models that do not support a use.
inline constexpr std::array<std::string_view, kUseNames.size()> kUnsupportedUses = {
    "does not classify",
    "does not tag words",
    "does not predict masked words",
    "does not answer questions",
    "has no encoder",
    "does not score text pairs",
    "does not generate text",
    "does not hold conversations",
    "does not score texts",
    "does not translate",
    "does not transcribe speech"};
inline ChoiceNames choice_names(Use) { return {"use", kUseNames}; }

}  // namespace weft
