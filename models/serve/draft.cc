#include "weft/models/serve/draft.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"

namespace weft {
namespace {

DecodeSlotsOptions draft_options(DecodeSlotsOptions options, const GptConfig& config) {
  const std::int64_t tokens = options.blocks * options.block;
  options.capacity = std::min(options.capacity, config.context);
  options.blocks = std::max(tokens, options.capacity) / options.block + 1;
  return options;
}

}  // namespace

void check_same_vocabulary(const LanguageModel& model, const LanguageModel& draft) {
  const auto size = [](const LanguageModel& m) {
    return m.no_tokenizer.empty() ? std::min(m.config.vocab, m.tokenizer.vocab_size())
                                  : m.config.vocab;
  };
  const std::int64_t ids = size(model), others = size(draft);
  if (ids != others) {
    throw ArgumentError(fmt::format(
        "the draft model has {} tokens and the model has {}: a draft model needs the same "
        "vocabulary; use a smaller model of the same family",
        others, ids));
  }
  if (!model.no_tokenizer.empty() || !draft.no_tokenizer.empty()) return;
  for (std::int64_t id = 0; id < ids; ++id) {
    const std::string own = model.tokenizer.piece(id), other = draft.tokenizer.piece(id);
    if (own == other) continue;
    throw ArgumentError(fmt::format(
        "token {} is '{}' in the draft model and '{}' in the model: a draft model needs the same "
        "vocabulary; use a smaller model of the same family",
        id, other, own));
  }
}

Draft::Draft(const LanguageModel& model, std::shared_ptr<const LanguageModel> draft,
             const DecodeSlotsOptions& options, const SessionOptions& session)
    : draft_((check_same_vocabulary(model, *draft), std::move(draft))),
      slots_(slots_model(*draft_)),
      session_(*slots_.graph, slots_.store, session),
      proposer_(std::make_unique<DraftModel>(session_, slots_.program, draft_->config,
                                             model.config.vocab,
                                             draft_options(options, draft_->config))) {
  proposer_->run_largest();
}

TextEngineMemory Draft::memory() const {
  TextEngineMemory memory{.caches = static_cast<std::int64_t>(session_.own_bytes()),
                          .arena = static_cast<std::int64_t>(session_.arena_bytes())};
  for (const VariableStore::MemoryEntry& entry : slots_.store->memory())
    memory.weights += static_cast<std::int64_t>(entry.bytes + entry.packed_bytes);
  return memory;
}

}  // namespace weft
