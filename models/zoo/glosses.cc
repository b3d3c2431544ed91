// Trains a text encoder on the glosses of WordNet, and compares it with BM25: which definition
// belongs to an example sentence?
//
//   zoo_glosses [WORDNET_FOLDER [quick]]
//
// WORDNET_FOLDER contains the WordNet data files (Debian package wordnet-base; default:
// /usr/share/wordnet). The queries are the example sentences, and the passages are the definitions
// of their senses. A tenth of the definitions is held out with all of their examples, so that all
// senses in the test set are new. With "quick", trains for a few steps on a part of the data.
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/models/tasks/common/tokenizer_choice.h"
#include "weft/models/tasks/text_embedding/embedding_task.h"
#include "weft/models/tasks/text_embedding/presets.h"
#include "weft/models/zoo/data/exit_code.h"
#include "weft/models/zoo/data/gloss_pairs.h"

using namespace weft;

namespace {

/// Trains an encoder from scratch, including its subwords.
TextEncoder train(const RetrievalPairs& pairs, std::uint64_t seed, bool quick) {
  const EmbeddingPreset& preset = text_embedding_presets().front();
  const Tokenizer pieces = make_tokenizer(parse_tokenizer_choice(quick ? "bpe:500" : "bpe:16000"),
                                          {.texts = [&] { return pairs.texts(); }})
                               .tokenizer;
  EncoderConfig config = preset.model;
  config.vocab = pieces.vocab_size();
  config.padding_id = pieces.pad_id();
  TrainSettings settings = preset.training;
  settings.seed = seed;
  if (quick) settings.steps = 20, settings.warmup = 2, settings.batch = 32;
  TextEncoder model =
      trainable(build_text_encoder(config, pieces, {.temperature = 0.05}, settings));
  Session session(*model.graph, model.store, {.seed = seed});
  Trainer(session, embedding_task(session, model, pairs, nullptr), {.settings = settings}).run();
  return model;
}

void print_metrics(std::string_view name, const Rankings& rankings, const RetrievalSet& set) {
  fmt::print("  {:24}", name);
  for (const Metric& metric : ranking_metrics(rankings, set))
    fmt::print(" {} {:.4f}", metric.name, metric.value);
  fmt::print("\n");
}

void run(const std::string& wordnet, bool quick) {
  RetrievalPairs all = zoo::read_gloss_pairs(wordnet);
  if (quick && all.lines.size() > 500) all.lines.resize(500);
  for (const std::uint64_t seed : {1, 2, 3}) {
    const RetrievalSplit parts = hold_out(all, 0.1, seed);
    const RetrievalSet test(parts.held_out);
    fmt::print("seed {}: {} training pairs; {} held-out examples, {} definitions\n", seed,
               parts.train.size(), test.queries.size(), test.passages.size());
    const TextEncoder model = train(parts.train, seed, quick);
    Session session(*model.graph, model.store);
    print_metrics("text encoder", rank_passages(session, model, test), test);
    const Bm25Baseline bm25 = bm25_baseline(test);
    print_metrics(bm25.name, bm25.rankings, test);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc == 3 && std::string_view(argv[2]) == "quick";
  if (argc > 3 || (argc == 3 && !quick)) {
    fmt::print(stderr, "usage: zoo_glosses [WORDNET_FOLDER [quick]]\n");
    return 2;
  }
  return zoo::exit_code("glosses", [&] { run(argc > 1 ? argv[1] : kWordNetFolder, quick); });
}
