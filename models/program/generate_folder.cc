#include "weft/models/program/generate_folder.h"

#include <fmt/format.h>

#include <filesystem>
#include <sstream>

#include "weft/core/error.h"
#include "weft/graph/run/session.h"
#include "weft/models/data/text.h"
#include "weft/models/generate/gpt_search.h"
#include "weft/models/generate/seq2seq.h"
#include "weft/models/hf/config_reader.h"
#include "weft/models/hf/folder.h"
#include "weft/models/hf/gpt.h"
#include "weft/models/program/commands.h"

namespace weft::program {
namespace {

std::vector<std::int64_t> parse_ids(const std::string& text) {
  std::vector<std::int64_t> ids;
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    std::size_t end = 0;
    std::int64_t id = -1;
    try {
      id = std::stoll(word, &end);
    } catch (const std::exception&) {
      end = 0;
    }
    if (end != word.size() || id < 0)
      throw UsageError(fmt::format("--prompt-ids: '{}' is not an id", word));
    ids.push_back(id);
  }
  if (ids.empty()) throw UsageError("--prompt-ids holds no id");
  return ids;
}

struct Settings {
  std::int64_t start_id = -1;
  SearchOptions search;
};

/// What the folder says about generating.
Settings read_settings(const hf::Folder& folder) {
  const std::filesystem::path own = std::filesystem::path(folder.path) / "generation_config.json";
  hf::ConfigReader config(std::filesystem::exists(own) ? read_text_file(own.string())
                                                       : folder.config);
  Settings settings;
  SearchOptions& o = settings.search;
  config.field("decoder_start_token_id", settings.start_id)
      .field("eos_token_id", o.eos_id)
      .field("pad_token_id", o.pad_id)
      .field("forced_eos_token_id", o.forced_eos_id)
      .field("forced_bos_token_id", o.forced_bos_id)
      .field("num_beams", o.beams)
      .field("num_return_sequences", o.results)
      .field("max_length", o.max_length)
      .field("min_length", o.min_length)
      .field("length_penalty", o.length_penalty)
      .field("early_stopping", o.early_stopping)
      .field("no_repeat_ngram_size", o.no_repeat_ngram);
  const std::string why = "generation with it is not supported";
  config.fixed("do_sample", false, why)
      .fixed("repetition_penalty", 1.0, why)
      .fixed("diversity_penalty", 0.0, why)
      .fixed("num_beam_groups", 1, why)
      .fixed("encoder_no_repeat_ngram_size", 0, why)
      .fixed("suppress_tokens", nullptr, why)
      .fixed("begin_suppress_tokens", nullptr, why)
      .fixed("exponential_decay_length_penalty", nullptr, why)
      .fixed("max_new_tokens", nullptr, why);
  if (const hf::json* words = config.find("bad_words_ids")) {
    for (const hf::json& word : *words) {
      if (!word.is_array() || word.size() != 1)
        throw ArgumentError(fmt::format(
            "bad_words_ids has {}: only words of a single id are supported", word.dump()));
      o.forbidden.push_back(word.at(0).get<std::int64_t>());
    }
  }
  return settings;
}

SearchResult continue_prompt(const hf::Folder& folder, const Tensor& prompt,
                             const SearchOptions& options, int threads) {
  Graph graph;
  const hf::GptModel model = hf::build_gpt_model(graph, folder.config);
  const GptSearch search(graph, model.gpt);
  Session session(graph, hf::load_weights(model.model, graph, folder), {.threads = threads});
  return search.run(session, prompt, {}, options);
}

SearchResult translate_prompt(const hf::Folder& folder, const Tensor& prompt, Settings settings,
                              int threads) {
  Graph graph;
  const hf::InputTypes inputs = {{"input_ids", {DType::i64, {1, 1}}},
                                 {"decoder_input_ids", {DType::i64, {1, 1}}}};
  const hf::Model model = hf::build_model(graph, folder.config, inputs);
  if (!model.encoder_decoder)
    throw UsageError(fmt::format("{} has no head that predicts ids", model.architecture));
  if (settings.start_id < 0)
    throw ArgumentError(
        fmt::format("{} states no decoder_start_token_id: nothing to begin with", folder.path));
  // Marian's beams do not score padding; its greedy search does, as the library's.
  if (model.model_type == "marian") settings.search.never.push_back(settings.search.pad_id);
  const Seq2SeqPrograms programs = make_seq2seq_programs(*model.encoder_decoder);
  Session session(graph, hf::load_weights(model, graph, folder), {.threads = threads});
  return generate(session, programs, prompt, Tensor::full(DType::i64, prompt.sizes(), 1),
                  settings.start_id, settings.search);
}

}  // namespace

std::vector<std::vector<std::int64_t>> generate_ids(const FolderGeneration& request) {
  const std::vector<std::int64_t> ids = parse_ids(request.prompt_ids);
  const Tensor prompt = Tensor::of<std::int64_t>({1, static_cast<std::int64_t>(ids.size())}, ids);
  const hf::Folder folder = hf::read_folder(request.folder);
  const bool decoder = hf::is_gpt(folder.config);
  const bool encoder_decoder =
      hf::json::parse(folder.config, nullptr, false).value("is_encoder_decoder", false);
  if (!decoder && !encoder_decoder) {
    throw UsageError(
        fmt::format("{} is neither a decoder nor an encoder-decoder: --prompt-ids "
                    "needs one",
                    request.folder));
  }
  Settings settings = read_settings(folder);
  SearchOptions& search = settings.search;
  if (request.beams) search.beams = *request.beams;
  if (request.results) search.results = *request.results;
  if (request.max_length) search.max_length = *request.max_length;
  if (request.length_penalty) search.length_penalty = *request.length_penalty;
  return decoder ? continue_prompt(folder, prompt, search, request.threads).sequences
                 : translate_prompt(folder, prompt, settings, request.threads).sequences;
}

}  // namespace weft::program
