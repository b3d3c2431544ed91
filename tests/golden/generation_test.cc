// Greedy and beam search with decoders: token ids and scores match the reference.
#include <fmt/core.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>

#include "golden_folder.h"
#include "weft/graph/run/session.h"
#include "weft/models/generate/generator.h"
#include "weft/models/hf/folder.h"
#include "weft/models/hf/gpt.h"

namespace weft::golden {
namespace {

using nlohmann::json;
using Rows = std::vector<std::vector<std::int64_t>>;

GenerationOptions search_options(const json& config, const json& kwargs) {
  GenerationOptions options{.beams = kwargs.at("num_beams"), .max_length = kwargs.at("max_length")};
  options.min_length = kwargs.value("min_length", 0);
  options.length_penalty = kwargs.value("length_penalty", 1.0);
  if (kwargs.value("early_stopping", false)) options.early_stopping = EarlyStopping::first;
  options.results = kwargs.value("num_return_sequences", 1);
  options.no_repeat_ngram = kwargs.value("no_repeat_ngram_size", 0);
  options.eos_id = config.at("eos_token_id");
  options.pad_id = config.at("pad_token_id");
  return options;
}

Tensor tensor_of(const json& rows) {
  std::vector<std::int64_t> flat;
  for (const auto& row : rows.get<Rows>()) flat.insert(flat.end(), row.begin(), row.end());
  const auto count = static_cast<std::int64_t>(rows.size());
  return Tensor::of({count, static_cast<std::int64_t>(flat.size()) / count}, flat);
}

// Returns a description of the differences, or an empty string if everything matches. Updates
// `worst` to the largest relative difference between scores.
std::string compare(const SearchResult& actual, const json& run, double& worst) {
  if (actual.sequences != run.at("sequences").get<Rows>())
    return fmt::format("{}: sequences differ; ", run.at("name").get<std::string>());
  if (!run.contains("sequences_scores")) return {};
  const auto scores = run.at("sequences_scores").get<std::vector<double>>();
  for (std::size_t i = 0; i < scores.size(); ++i)
    worst = std::max(worst, std::abs(scores[i] - actual.scores[i]) / std::abs(scores[i]));
  return worst <= 1e-5 ? "" : fmt::format("scores differ by {:.3g}; ", worst);
}

BOOST_AUTO_TEST_CASE(decoder_searches_match_the_reference) {
  Report report;
  for (const auto& path : find_model_cases("*", "generate.json")) {
    const std::string name = path.parent_path().filename().string();
    if (!is_supported(path.parent_path())) {
      report.skip(name, "not supported");
      continue;
    }
    const hf::Folder folder = hf::read_folder(path.parent_path().string());
    if (!hf::is_gpt(folder.config)) {
      report.skip(name, "not a decoder-only model");
      continue;
    }
    try {
      const json generate = read_json(path);
      Graph graph;
      const hf::GptModel model = hf::build_gpt_model(graph, folder.config);
      const Program decode =
          model.gpt.decode_program(graph.input("tokens", DType::i64, {"rows", "new"}));
      Session session(graph, hf::load_weights(model.model, graph, folder), {.threads = 2});
      Generator generator(session, decode, model.gpt.config());
      const json& inputs = generate.at("inputs");
      std::string problem;
      double worst = 0;
      for (const json& run : generate.at("runs")) {
        const GenerationOptions options =
            search_options(generate.at("config_used"), run.at("kwargs"));
        SearchResult result = generator
                                  .generate(tensor_of(inputs.at("input_ids")),
                                            tensor_of(inputs.at("attention_mask")), options)
                                  .run();
        pad_to_longest(result.sequences, options.pad_id);
        problem += compare(result, run, worst);
      }
      if (problem.empty()) {
        report.ok(name, worst);
      } else {
        report.fail(name, problem);
      }
    } catch (const std::exception& e) {
      report.fail(name, e.what());
    }
  }
  BOOST_TEST(report.finish("golden generation"));
}

}  // namespace
}  // namespace weft::golden
