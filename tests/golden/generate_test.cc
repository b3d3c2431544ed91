// Greedy and beam search with encoder-decoders: token ids and scores match the reference.
#include <fmt/core.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>

#include "golden_folder.h"
#include "weft/graph/run/session.h"
#include "weft/models/generate/seq2seq.h"
#include "weft/models/hf/folder.h"

namespace weft::golden {
namespace {

using nlohmann::json;
using Sequences = std::vector<std::vector<std::int64_t>>;

Tensor tensor_of(const Sequences& rows) {
  std::vector<std::int64_t> flat;
  for (const auto& row : rows) flat.insert(flat.end(), row.begin(), row.end());
  return Tensor::of<std::int64_t>(
      {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows.front().size())},
      flat);
}

GenerationOptions options_of(const json& kwargs, const json& ids, bool marian) {
  GenerationOptions o;
  for (const auto& [key, value] : kwargs.items()) {
    if (key == "num_beams") {
      o.beams = value;
    } else if (key == "max_length") {
      o.max_length = value;
    } else if (key == "min_length") {
      o.min_length = value;
    } else if (key == "length_penalty") {
      o.length_penalty = value;
    } else if (key == "early_stopping") {
      o.early_stopping = value ? EarlyStopping::first : EarlyStopping::heuristic;
    } else if (key == "num_return_sequences") {
      o.results = value;
    } else if (key == "no_repeat_ngram_size") {
      o.no_repeat_ngram = value;
    } else if (key != "do_sample") {
      throw std::runtime_error("unknown argument " + key);
    }
  }
  o.eos_id = ids.at("eos_token_id");
  o.pad_id = ids.at("pad_token_id");
  o.forced_eos_id = ids.value("forced_eos_token_id", -1);
  o.forced_bos_id = ids.value("forced_bos_token_id", -1);
  o.start = {ids.at("decoder_start_token_id")};
  if (marian) o.suppressed = {o.pad_id};
  return o;
}

std::string compare(const SearchResult& result, const json& run) {
  if (result.sequences != run.at("sequences").get<Sequences>())
    return "token ids differ in run " + run.at("name").get<std::string>() + "; ";
  if (!run.contains("sequences_scores")) return {};
  std::string problem;
  const auto expected = run.at("sequences_scores").get<std::vector<double>>();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!(std::abs(result.scores.at(i) - expected[i]) <= 1e-4 * std::abs(expected[i])))
      problem += fmt::format("score {} of run {} is {}, expected {}; ", i,
                             run.at("name").get<std::string>(), result.scores[i], expected[i]);
  }
  return problem;
}

BOOST_AUTO_TEST_CASE(encoder_decoder_searches_match_the_reference) {
  Report report;
  for (const auto& path : find_model_cases("*", "generate.json")) {
    const auto folder_path = path.parent_path();
    const std::string name = folder_path.filename().string();
    const json config = read_json(folder_path / "config.json");
    if (!config.value("is_encoder_decoder", false)) {
      report.skip(name, "not an encoder-decoder");
      continue;
    }
    const bool reads_text = read_json(path).at("inputs").contains("input_ids");
    if (!is_supported(folder_path) || !reads_text) {
      report.skip(name, reads_text ? "not supported" : "no text");  // speech_test.cc
      continue;
    }
    try {
      const json cases = read_json(path);
      const hf::Folder folder = hf::read_folder(folder_path.string());
      Graph graph;
      const hf::Model model = hf::build_model(
          graph, folder.config,
          {{"input_ids", {DType::i64, {1, 1}}}, {"decoder_input_ids", {DType::i64, {1, 1}}}});
      const Seq2SeqPrograms programs = make_seq2seq_programs(*model.encoder_decoder);
      Session session(graph, hf::load_weights(model, graph, folder), {.threads = 2});
      const json& ids = cases.at("config_used");
      const Tensor prompts = tensor_of(cases.at("inputs").at("input_ids").get<Sequences>());
      const Tensor mask = tensor_of(cases.at("inputs").at("attention_mask").get<Sequences>());
      std::string problem;
      Seq2SeqGenerator generator(session, programs);
      for (const json& run : cases.at("runs")) {
        const GenerationOptions options =
            options_of(run.at("kwargs"), ids, config.at("model_type") == "marian");
        SearchResult result = generator.generate(prompts, mask, options).run();
        pad_to_longest(result.sequences, options.pad_id);
        problem += compare(result, run);
      }
      if (problem.empty()) {
        report.ok(name, 0);
      } else {
        report.fail(name, problem);
      }
    } catch (const std::exception& e) {
      report.fail(name, e.what());
    }
  }
  BOOST_TEST(report.finish("golden searches"));
}

}  // namespace
}  // namespace weft::golden
