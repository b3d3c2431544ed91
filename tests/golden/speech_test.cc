// Greedy search with speech recognisers: token ids match the reference.
#include <boost/test/unit_test.hpp>

#include "golden_folder.h"
#include "weft/graph/run/session.h"
#include "weft/models/generate/seq2seq.h"
#include "weft/models/hf/folder.h"

namespace weft::golden {
namespace {

using nlohmann::json;

BOOST_AUTO_TEST_CASE(speech_searches_match_the_reference) {
  int cases = 0;
  for (const auto& path : find_model_cases("whisper*", "generate.json")) {
    const json about = read_json(path);
    const hf::Folder folder = hf::read_folder(path.parent_path().string());
    Graph graph;
    const hf::Model model =
        hf::build_model(graph, folder.config, hf::minimal_inputs(folder.config));
    const Seq2SeqPrograms programs = make_seq2seq_programs(*model.encoder_decoder);
    Session session(graph, hf::load_weights(model, graph, folder), {.threads = 2});
    std::vector<float> values;
    const json& rows = about.at("inputs").at("input_features");
    for (const json& row : rows) {
      for (const json& bin : row) {
        for (const json& value : bin) values.push_back(value.get<float>());
      }
    }
    const Tensor features =
        Tensor::of<float>({std::ssize(rows), std::ssize(rows[0]), std::ssize(rows[0][0])}, values);
    const json& ids = about.at("config_used");
    Seq2SeqGenerator generator(session, programs);
    for (const json& run : about.at("runs")) {
      GenerationOptions options{.beams = run.at("kwargs").at("num_beams"),
                                .max_length = run.at("kwargs").at("max_length"),
                                .eos_id = ids.at("eos_token_id"),
                                .pad_id = ids.at("pad_token_id")};
      options.start = {ids.at("decoder_start_token_id")};
      SearchResult first = generator.generate(features, options).run();
      const SearchResult again = generator.generate_again(options).run();
      BOOST_TEST((first.sequences == again.sequences));
      pad_to_longest(first.sequences, options.pad_id);
      BOOST_TEST((first.sequences == run.at("sequences").get<std::vector<TokenIds>>()));
      ++cases;
      options.max_length += 1;
      BOOST_CHECK_THROW(generator.generate_again(options), ArgumentError);
    }
  }
  BOOST_TEST(cases > 0);
}

}  // namespace
}  // namespace weft::golden
