// The draft model of a TextEngine, with its session.
#pragma once

#include <memory>
#include <utility>

#include "weft/graph/run/session.h"
#include "weft/models/generate/slots.h"
#include "weft/models/generate/speculation.h"
#include "weft/models/serve/adapters.h"
#include "weft/models/serve/text_engine.h"

namespace weft {

/// Throws ArgumentError unless each id that both models have is the same token in both. Padded
/// vocabularies may have different sizes.
void check_same_vocabulary(const LanguageModel& model, const LanguageModel& draft);

/// A smaller decoder that proposes tokens for `model`.
class Draft {
 public:
  /// `options` and `session` are those of the model; its caches have the same number
  /// of tokens. Plans its memory. Throws like check_same_vocabulary().
  Draft(const LanguageModel& model, std::shared_ptr<const LanguageModel> draft,
        const DecodeSlotsOptions& options, const SessionOptions& session);

  /// Returns the proposer, once. This object must outlive it.
  std::unique_ptr<Proposer> take_proposer() { return std::move(proposer_); }
  TextEngineMemory memory() const;

 private:
  std::shared_ptr<const LanguageModel> draft_;
  SlotsModel slots_;
  Session session_;
  std::unique_ptr<DraftModel> proposer_;
};

}  // namespace weft
