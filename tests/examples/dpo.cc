// Direct preference optimisation (Rafailov et al. 2023) of a small GPT. Supervised training teaches
// it to answer four digits either with the same digits or with the digits in reverse, equally
// often. The trained policy is copied to a frozen reference, and pairs of answers then teach the
// policy to prefer the same digits.
#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

#include "weft/models/families/gpt.h"
#include "weft/weft.h"

using namespace weft;

constexpr std::int64_t kPrompt = 4, kLength = 2 * kPrompt;

/// Returns the log-probability [n] of the second half of every row of ids [n, kLength].
Value answer_log_probability(const Gpt& model, Value ids) {
  const Value logits = slice(model({.ids = ids}).logits, 1, {.begin = kPrompt - 1, .end = -1});
  const Value answer = unsqueeze(slice(ids, 1, {.begin = kPrompt}), 2);
  return sum(squeeze(take_along_axis(log_softmax(logits), answer, 2), {2}), {1});
}

/// Returns i32 [n, kLength]: random digits, followed by the same digits or by their reverse.
/// `copies` are the rows with the same digits.
Tensor sequences(unsigned seed, const std::vector<bool>& copies) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> ids;
  for (const bool copy : copies) {
    std::vector<std::int32_t> prompt;
    for (int i = 0; i < kPrompt; ++i) prompt.push_back(static_cast<std::int32_t>(random() % 10));
    if (prompt[0] == prompt[3]) prompt[3] = (prompt[3] + 1) % 10;  // the answers must differ
    ids.insert(ids.end(), prompt.begin(), prompt.end());
    if (!copy) std::reverse(prompt.begin(), prompt.end());
    ids.insert(ids.end(), prompt.begin(), prompt.end());
  }
  return Tensor::of({static_cast<std::int64_t>(copies.size()), kLength}, ids);
}

/// Returns pairs of answers to equal prompts.
NamedTensors make_pairs(unsigned seed, std::size_t count) {
  return {{"chosen", sequences(seed, std::vector<bool>(count, true))},
          {"rejected", sequences(seed, std::vector<bool>(count, false))}};
}

int main() {
  Graph g;
  const Scope policy_scope(g, "policy"), reference_scope(g, "reference");
  const GptConfig config{.vocab = 10, .layers = 2, .heads = 4, .width = 32, .context = kLength};
  const Gpt policy(policy_scope, config), reference(reference_scope, config);
  const Value chosen = g.input("chosen", DType::i32, {"n", kLength});
  const Value rejected = g.input("rejected", DType::i32, {"n", kLength});

  const Value of_chosen = answer_log_probability(policy, chosen);
  const Value supervised_loss = -mean(of_chosen);
  const auto log_ratio = [&](Value ids) {
    return answer_log_probability(policy, ids) -
           stop_gradient(answer_log_probability(reference, ids));
  };
  const Value margin = 0.2 * (log_ratio(chosen) - log_ratio(rejected));
  const Value dpo_loss = mean(softplus(-margin));
  const Value prefers = of_chosen > answer_log_probability(policy, rejected);

  const Program pretrain =
      Program("pretrain")
          .output("loss", supervised_loss)
          .update(adamw(supervised_loss, policy_scope.parameters(), {.lr = 3e-3}));
  const Program align = Program("align")
                            .output("loss", dpo_loss)
                            .update(adamw(dpo_loss, policy_scope.parameters(), {.lr = 5e-4}));
  const Program evaluate = Program("evaluate")
                               .output("prefers", mean(cast(prefers, DType::f32)))
                               .output("margin", mean(margin));

  Session session(g, {.seed = 1});
  std::mt19937 random(1);
  float loss = 0;
  for (unsigned i = 0; i < 300; ++i) {
    std::vector<bool> copies;
    for (int k = 0; k < 32; ++k) copies.push_back(random() % 2 == 0);
    loss = session.run(pretrain, {{"chosen", sequences(1000 + i, copies)}})["loss"].item<float>();
  }
  copy_parameters(session, policy_scope, reference_scope);

  const NamedTensors held_out = make_pairs(1, 200);
  const auto report = [&](const char* when) {
    const Results now = session.run(evaluate, held_out);
    const float share = now["prefers"].item<float>();
    std::printf("%s: %.0f %% of the preferred answers are more likely, mean margin %.2f\n", when,
                100.0 * static_cast<double>(share),
                static_cast<double>(now["margin"].item<float>()));
    return share;
  };
  std::printf("supervised loss %.3f\n", static_cast<double>(loss));
  const float before = report("before");
  const Tensor frozen = session.value("reference.transformer.wte.weight");
  for (unsigned i = 0; i < 100; ++i) session.run(align, make_pairs(5000 + i, 32));
  const float after = report("after");
  const bool is_frozen = bitwise_equal(session.value("reference.transformer.wte.weight"), frozen);
  return before < 0.8f && after > 0.95f && is_frozen ? 0 : 1;
}
