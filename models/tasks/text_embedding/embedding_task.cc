#include "weft/models/tasks/text_embedding/embedding_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "weft/graph/functions.h"
#include "weft/models/data/batching/epochs.h"
#include "weft/models/data/batching/lazy_cache.h"
#include "weft/models/data/features/bm25.h"
#include "weft/models/training/gathered_rows.h"
#include "weft/models/training/weighted_mean.h"

namespace weft {
namespace {

/// Returns the training options or, for models that were not trained on pairs, the defaults with
/// the prompts of the model.
ContrastiveOptions options_of(const TextEncoder& model) {
  if (model.contrastive) return *model.contrastive;
  const std::optional<SentenceSettings> settings = model.sentences();
  return settings ? with_prompts({}, *settings) : ContrastiveOptions();
}

/// The ids of a batch for embedding_loss(): the indices of texts. Missing negatives have id -1.
struct BatchIds {
  std::vector<std::int64_t> queries = {}, passages = {};

  void add(const RetrievalSet::Line& line, std::int64_t texts) {
    queries.push_back(static_cast<std::int64_t>(line.query));
    for (std::size_t i = 0; i < static_cast<std::size_t>(texts); ++i)
      passages.push_back(i < line.passages.size() ? static_cast<std::int64_t>(line.passages[i])
                                                  : -1);
  }
  void into(NamedTensors& inputs, std::int64_t texts) const {
    inputs.emplace_back("query_ids", Tensor::of({std::ssize(queries)}, queries));
    inputs.emplace_back("passage_ids", Tensor::of({std::ssize(queries), texts}, passages));
  }
};

/// Creates the batches of a training run. Every distinct text is encoded once.
class TrainingBatches {
 public:
  TrainingBatches(const TextEncoder& model, const RetrievalPairs& pairs)
      : model_(model),
        set_(std::make_shared<RetrievalSet>(pairs)),
        texts_(1 + model.contrastive.value().negatives),
        queries_(rows(set_->queries, model.contrastive->query_prompt)),
        passages_(rows(set_->passages, model.contrastive->passage_prompt)),
        epochs_(pairs.size(), model.settings.seed) {
    skips_prompts_ = !model.sentences()->include_prompt;
    if (!skips_prompts_) return;
    query_skip_ = prompt_tokens(model.reader(), model.contrastive->query_prompt);
    passage_skip_ = prompt_tokens(model.reader(), model.contrastive->passage_prompt);
  }

  TrainBatch operator()(const BatchPart& part) const {
    const std::int64_t batch = model_.settings.batch;
    const Epochs::Order places = epochs_.examples(part, batch);
    std::vector<const TextRow*> queries, passages;
    BatchIds ids;
    for (const std::int64_t place : places) {
      const RetrievalSet::Line& line = set_->lines[static_cast<std::size_t>(place)];
      ids.add(line, texts_);
      queries.push_back(&queries_[static_cast<std::int64_t>(line.query)]);
      // A missing negative, which has no effect, is represented by the positive.
      for (std::size_t i = 0; i < static_cast<std::size_t>(texts_); ++i)
        passages.push_back(
            &passages_[static_cast<std::int64_t>(line.passages[i < line.passages.size() ? i : 0])]);
    }
    NamedTensors inputs;
    add_rows(inputs, "query_", queries, query_skip_, 0);
    add_rows(inputs, "passage_", passages, passage_skip_, texts_);
    ids.into(inputs, texts_);
    if (model_.settings.shards > 1) inputs.emplace_back("rows", row_positions(part.rows(batch)));
    return {std::move(inputs), std::ssize(places)};
  }

 private:
  LazyCache<TextRow> rows(const std::vector<std::string>& texts, const std::string& prompt) const {
    return {std::ssize(texts), [this_model = &model_, set = set_, &texts, prompt](std::int64_t i) {
              return this_model->reader().row(prompt + texts[static_cast<std::size_t>(i)]);
            }};
  }
  /// Adds the inputs for texts, of which the first `skip` tokens are not pooled. If `texts` is not
  /// 0, there are `texts` rows for every row of the batch.
  void add_rows(NamedTensors& inputs, const std::string& prefix,
                const std::vector<const TextRow*>& rows, std::size_t skip,
                std::int64_t texts) const {
    NamedTensors made = model_.reader().inputs(rows);
    if (skips_prompts_) made.emplace_back("pooled", pooled_tokens(made[1].second, skip));
    for (auto& [name, tensor] : made) {
      if (texts > 0) tensor = tensor.reshape({tensor.size(0) / texts, texts, tensor.size(1)});
      inputs.emplace_back(prefix + name, std::move(tensor));
    }
  }

  const TextEncoder& model_;
  std::shared_ptr<const RetrievalSet> set_;
  std::int64_t texts_;
  LazyCache<TextRow> queries_, passages_;
  Epochs epochs_;
  bool skips_prompts_ = false;
  std::size_t query_skip_ = 0, passage_skip_ = 0;  // tokens of the prompts
};

Tensor first_values(const Tensor& vectors, std::int64_t dimensions) {
  if (dimensions == 0 || dimensions >= vectors.size(1)) return vectors;
  Tensor result = Tensor::empty(DType::f32, {vectors.size(0), dimensions});
  const float* from = vectors.data<float>();
  float* to = result.mutable_data<float>();
  for (std::int64_t row = 0; row < vectors.size(0); ++row)
    std::copy_n(from + row * vectors.size(1), dimensions, to + row * dimensions);
  return result;
}

/// Returns the contrastive loss in batches of consecutive lines.
double loss_of(const TextEncoder& model, const RetrievalSet& set, const SetVectors& vectors) {
  const ContrastiveOptions options = options_of(model);
  const std::int64_t width = vectors.queries.size(1), texts = 1 + options.negatives;
  Graph graph;
  const Value queries = graph.input("queries", DType::f32, {"batch", width}),
              passages = graph.input("passages", DType::f32, {"batch", texts, width});
  const auto settings = model.sentences();
  const Program program = Program("loss").output(
      "loss", embedding_loss(queries, passages, graph.input("query_ids", DType::i64, {"batch"}),
                             graph.input("passage_ids", DType::i64, {"batch", texts}), options,
                             !settings || settings->similarity != VectorSimilarity::dot));
  Session session(graph);
  WeightedMean mean;
  const auto batch = static_cast<std::size_t>(model.settings.batch);
  for (std::size_t begin = 0; begin < set.lines.size(); begin += batch) {
    const std::size_t end = std::min(begin + batch, set.lines.size());
    BatchIds ids;
    std::vector<float> q, p;
    const auto add = [&](const Tensor& from, std::size_t row, std::vector<float>& to) {
      const auto values = from.span<float>().subspan(row * static_cast<std::size_t>(width),
                                                     static_cast<std::size_t>(width));
      to.insert(to.end(), values.begin(), values.end());
    };
    for (std::size_t i = begin; i < end; ++i) {
      const RetrievalSet::Line& line = set.lines[i];
      ids.add(line, texts);
      add(vectors.queries, line.query, q);
      for (std::size_t t = 0; t < static_cast<std::size_t>(texts); ++t)
        add(vectors.passages, line.passages[t < line.passages.size() ? t : 0], p);
    }
    const auto n = static_cast<std::int64_t>(end - begin);
    NamedTensors inputs = {{"queries", Tensor::of({n, width}, q)},
                           {"passages", Tensor::of({n, texts, width}, p)}};
    ids.into(inputs, texts);
    mean.add(session.run(program, inputs)["loss"].item<float>(), static_cast<double>(n));
  }
  return mean.value();
}

template <class Metric>
double mean_over_queries(const Rankings& rankings, const RetrievalSet& set, const Metric& metric) {
  double sum = 0;
  for (std::size_t i = 0; i < rankings.size(); ++i) sum += metric(rankings[i], set.relevant[i]);
  return sum / static_cast<double>(rankings.size());
}

double mean_ndcg(const Rankings& rankings, const RetrievalSet& set) {
  return mean_over_queries(rankings, set, [](const auto& ranking, const Relevance& relevant) {
    return ndcg(ranking, relevant, 10);
  });
}

}  // namespace

RetrievalSet::RetrievalSet(const RetrievalPairs& pairs) {
  std::map<std::string, std::size_t, std::less<>> query_ids, passage_ids;
  const auto index = [](auto& ids, std::vector<std::string>& texts, const std::string& text) {
    const auto [found, added] = ids.emplace(text, texts.size());
    if (added) texts.push_back(text);
    return found->second;
  };
  for (const RetrievalPair& pair : pairs.lines) {
    Line line{index(query_ids, queries, pair.query), {index(passage_ids, passages, pair.passage)}};
    relevant.resize(queries.size());
    relevant[line.query][line.passages.front()] = 1;
    for (const std::string& negative : pair.negatives)
      line.passages.push_back(index(passage_ids, passages, negative));
    lines.push_back(std::move(line));
  }
}

std::vector<Metric> ranking_metrics(const Rankings& rankings, const RetrievalSet& set) {
  std::vector<Metric> metrics = {{"ndcg@10", mean_ndcg(rankings, set)}};
  metrics.push_back({"mrr@10", mean_over_queries(rankings, set, [](const auto& r, const auto& rel) {
                       return reciprocal_rank(r, rel, 10);
                     })});
  for (const std::size_t k : {1, 10, 100}) {
    metrics.push_back({fmt::format("recall@{}", k),
                       mean_over_queries(rankings, set, [k](const auto& r, const auto& rel) {
                         return recall(r, rel, k);
                       })});
  }
  return metrics;
}

std::vector<double> recall_curve(const Rankings& rankings, const RetrievalSet& set) {
  std::vector<double> curve;
  for (std::size_t k = 1; k <= kRankedPassages; ++k) {
    curve.push_back(mean_over_queries(
        rankings, set, [k](const auto& r, const auto& rel) { return recall(r, rel, k); }));
  }
  return curve;
}

SetVectors embed_set(Session& session, const TextEncoder& model, const RetrievalSet& set) {
  const ContrastiveOptions options = options_of(model);
  const auto vectors = [&](const std::vector<std::string>& texts, const std::string& prompt) {
    const Program& program =
        model.program(model.sentences() ? kVectorsProgram : choice_name(model.vectors.pooling));
    return embed(session, model, texts,
                 {.normalise = false,
                  .dimensions = program.outputs().front().second.size(1).constant(),
                  .prompt = prompt,
                  .on_cut = ignore_truncation()});
  };
  return {vectors(set.queries, options.query_prompt),
          vectors(set.passages, options.passage_prompt)};
}

Rankings rank_passages(const TextEncoder& model, const SetVectors& vectors,
                       std::int64_t dimensions) {
  const std::optional<SentenceSettings> settings = model.sentences();
  if (dimensions == 0 && settings) dimensions = settings->dimensions;
  const auto found = most_similar(first_values(vectors.queries, dimensions),
                                  first_values(vectors.passages, dimensions),
                                  static_cast<std::int64_t>(kRankedPassages),
                                  settings ? settings->similarity : VectorSimilarity::cosine);
  Rankings rankings;
  for (const std::vector<Similar>& row : found) {
    rankings.emplace_back();
    for (const Similar& passage : row)
      rankings.back().push_back(static_cast<std::size_t>(passage.row));
  }
  return rankings;
}

Rankings rank_passages(Session& session, const TextEncoder& model, const RetrievalSet& set,
                       std::int64_t dimensions) {
  return rank_passages(model, embed_set(session, model, set), dimensions);
}

Bm25Baseline bm25_baseline(const RetrievalSet& set) {
  Bm25Baseline best;
  double best_ndcg = -1;
  for (const Bm25Options& options : {Bm25Options{1.2, 0.75}, Bm25Options{0.9, 0.4}}) {
    const Bm25 bm25(set.passages, options);
    Rankings rankings;
    for (const std::string& query : set.queries)
      rankings.push_back(bm25.ranking(query, kRankedPassages));
    const double found = mean_ndcg(rankings, set);
    if (found <= best_ndcg) continue;
    best_ndcg = found;
    best = {fmt::format("BM25 (k1 {}, b {})", options.k1, options.b), std::move(rankings)};
  }
  return best;
}

Evaluation evaluate(const TextEncoder& model, const RetrievalSet& set, const SetVectors& vectors) {
  return {loss_of(model, set, vectors), ranking_metrics(rank_passages(model, vectors), set)};
}

Evaluation evaluate(Session& session, const TextEncoder& model, const RetrievalPairs& pairs) {
  const RetrievalSet set(pairs);
  return evaluate(model, set, embed_set(session, model, set));
}

TrainTask embedding_task(Session& session, const TextEncoder& model, const RetrievalPairs& train,
                         const RetrievalPairs* held_out) {
  TrainTask task = train_task(model, "pairs", TrainingBatches(model, train));
  if (held_out == nullptr) return task;
  task.evaluate = [&session, &model, held_out](bool whole) {
    const std::int64_t most = whole ? 0 : model.settings.eval_batches * model.settings.batch;
    RetrievalPairs part;
    for (const std::int64_t place : evenly_spread(held_out->size(), most))
      part.lines.push_back(held_out->lines[static_cast<std::size_t>(place)]);
    return evaluate(session, model, part);
  };
  return task;
}

}  // namespace weft
