// Cross-encoders: scores of text pairs, and the command `weft rerank`.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tiny_folder.h"
#include "weft/core/error.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/tasks/text_similarity/similarity_model.h"
#include "weft/serialization/files/read_file.h"
#include "weft/tests/support/program_shell.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(reranking)
namespace {

using Texts = std::vector<std::string>;

const std::string kQuery = "where is mary ?";
const Texts kTexts = {"the film was bad", "mary lives in new york", "bob", "the river of the town"};

json classifier_config(const std::string& type, const Texts& labels, const json& more = {}) {
  json config = tiny_config(type, class_prefix(type) + "ForSequenceClassification");
  for (std::size_t i = 0; i < labels.size(); ++i) config["id2label"][std::to_string(i)] = labels[i];
  config.update(more.is_null() ? json::object() : more);
  return config;
}

/// Returns the logits that the class of the folder computes for a pair.
std::vector<double> logits(const TinyFolder& folder, const Encoding& row, bool types) {
  const Tensor found = folder.output("logits", row, types);
  std::vector<double> values;
  for (std::int64_t i = 0; i < found.numel(); ++i) values.push_back(found.at(i));
  return values;
}

// docs/embeddings.md shows these two functions.
Tensor query_vectors(const std::string& folder, const std::vector<std::string>& queries) {
  const auto encoder = text_encoder(*load_model_for(Use::embed, folder).model);
  Session session(*encoder->graph, encoder->store);
  return embed(session, *encoder, queries, {.prompt_name = "query"});
}

std::vector<std::string> best_texts(const std::string& folder, const std::string& query,
                                    const std::vector<std::string>& texts) {
  const auto model = load_model_for(Use::rerank, folder).model;
  Session session(*model->graph, model->store);
  std::vector<std::string> best;
  for (const RankedText& found : rerank(session, *model, query, texts, {.most = 3}))
    best.push_back(texts[found.text]);
  return best;
}

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

std::vector<RankedText> ranked(const std::string& path, const RerankOptions& options = {}) {
  const auto model = load_model_for(Use::rerank, path).model;
  Session session(*model->graph, model->store, {.threads = 1});
  return rerank(session, *model, kQuery, kTexts, options);
}

/// Checks the scores of the model at `path`, of the .weft file made from it, and of the folder made
/// from that file. Expects them in the order of kTexts.
void check_scores(const TinyFolder& folder, const std::vector<double>& expected,
                  const RerankOptions& options = {}) {
  const std::string file = folder.beside("m.weft"), again = folder.beside("again");
  save_model(file, *load_any_model(folder.path()).model);
  save_folder(again, *load_any_model(file).model);
  for (const std::string& path : {folder.path(), file, again}) {
    BOOST_TEST_CONTEXT(path) {
      const auto found = ranked(path, options);
      BOOST_TEST_REQUIRE(found.size() == expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        BOOST_TEST(std::abs(found[i].score - expected[found[i].text]) < 1e-5);
        if (i > 0) BOOST_TEST(found[i - 1].score >= found[i].score);
      }
    }
  }
  std::filesystem::remove_all(again);
}

BOOST_AUTO_TEST_CASE(one_label_gives_scores_with_the_activation_of_the_folder) {
  const auto identity = [](double x) { return x; };
  struct Case {
    json more;
    double (*activation)(double);
  };
  const std::string module = "torch.nn.modules.";
  const std::vector<Case> cases = {
      {{}, sigmoid_of},
      {{{"problem_type", "regression"}}, sigmoid_of},
      {{{"sbert_ce_default_activation_function", module + "linear.Identity"}}, identity},
      {{{"sbert_ce_default_activation_function", nullptr}}, sigmoid_of},
      {{{"sentence_transformers",
         {{"activation_fn", module + "activation.Tanh"}, {"version", "4.1.0"}}}},
       [](double x) { return std::tanh(x); }},
      {{{"problem_type", "regression"},
        {"sentence_transformers", {{"activation_fn", module + "linear.Identity"}}},
        {"sbert_ce_default_activation_function", module + "activation.Sigmoid"}},
       identity}};
  for (const std::string type : {"bert", "roberta", "deberta-v2"}) {
    for (const Case& one : cases) {
      BOOST_TEST_CONTEXT(type << one.more.dump()) {
        const TinyFolder folder(classifier_config(type, {"LABEL_0"}, one.more));
        std::vector<double> expected;
        for (const std::string& text : kTexts) {
          const Encoding row = folder.ids(kQuery, text);
          expected.push_back(one.activation(logits(folder, row, type == "bert")[0]));
        }
        check_scores(folder, expected);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(the_files_of_a_cross_encoder_are_honoured) {
  const TinyFolder folder(classifier_config("bert", {"LABEL_0"}));
  folder.write("modules.json",
               R"([{"idx": 0, "name": "0", "path": "", "type":)"
               R"( "sentence_transformers.base.modules.transformer.Transformer"}])");
  const json text = {{"method", "forward"}, {"method_output_name", "logits"}};
  folder.write("sentence_bert_config.json", json{{"transformer_task", "sequence-classification"},
                                                 {"modality_config", {{"text", text}}},
                                                 {"module_output_name", "scores"}}
                                                .dump());
  const auto config = [&](const json& more) {
    json model = {{"model_type", "CrossEncoder"},
                  {"__version__", {{"sentence_transformers", "5.4.0"}}},
                  {"prompts", json::object()},
                  {"default_prompt_name", nullptr},
                  {"activation_fn", "torch.nn.modules.linear.Identity"}};
    model.update(more.is_null() ? json::object() : more);
    folder.write("config_sentence_transformers.json", model.dump());
  };
  config({});
  std::vector<double> expected;
  for (const std::string& other : kTexts)
    expected.push_back(logits(folder, folder.ids(kQuery, other), true)[0]);
  check_scores(folder, expected);
  BOOST_TEST(load_any_model(folder.path()).task.info().id == "text-classification");
  // The tokenizer's limit truncates pairs to six tokens and three special ones. If both texts are
  // longer than half of that, both are truncated.
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class": "BertTokenizer", "model_max_length": 9})");
  expected.clear();
  for (const std::string other : {"the film was", "mary lives in", "bob", "the river of"}) {
    const Encoding row = folder.ids(other == "bob" ? kQuery : "where is mary", other);
    expected.push_back(logits(folder, row, true)[0]);
  }
  std::size_t cut = 0;
  check_scores(folder, expected, {.on_cut = [&](const CutText&) { ++cut; }});
  BOOST_TEST(cut == 9U);
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class": "BertTokenizer", "model_max_length": 9,)"
               R"( "truncation_side": "left"})");
  expected.clear();
  for (const std::string other : {"film was bad", "in new york", "bob", "of the town"}) {
    const Encoding row = folder.ids(other == "bob" ? kQuery : "is mary ?", other);
    expected.push_back(logits(folder, row, true)[0]);
  }
  check_scores(folder, expected);

  const auto fails = [&](const std::string& message) {
    check_error_message<ArgumentError>([&] { ranked(folder.path()); }, message);
  };
  config({{"activation_fn", "mine.Squash"}});
  fails("the activation function \"mine.Squash\" is not supported");
  config({{"default_prompt_name", "q"}, {"prompts", {{"q", "query: "}}}});
  fails("default_prompt_name is \"q\", but prompts for text pairs are not supported");
  config({{"margin", 3}});
  fails("config_sentence_transformers.json: unknown key margin");
  config({});
  folder.write("modules.json",
               R"([{"type": "sentence_transformers.models.Transformer"},)"
               R"( {"type": "sentence_transformers.cross_encoder.modules.LogitScore"}])");
  fails("modules.json: the module \"sentence_transformers.cross_encoder.modules.LogitScore\"");
}

BOOST_AUTO_TEST_CASE(several_labels_are_ranked_by_the_chosen_one) {
  const Texts labels = {"contradiction", "entailment", "neutral"};
  const TinyFolder folder(classifier_config("bert", labels));
  std::vector<double> expected;
  for (const std::string& text : kTexts)
    expected.push_back(logits(folder, folder.ids(kQuery, text), true)[1]);
  check_scores(folder, expected, {.label = "entailment"});
  check_error_message<ArgumentError>(
      [&] { ranked(folder.path()); },
      "the model has 3 labels: choose one of them (--label): contradiction, entailment, neutral");
  check_error_message<ArgumentError>(
      [&] { ranked(folder.path(), {.label = "maybe"}); },
      "the model has no label \"maybe\"; its labels are contradiction, entailment, neutral");
  const auto model = load_any_model(folder.path()).model;
  Session session(*model->graph, model->store, {.threads = 1});
  const std::vector<PairTexts> pairs = {{kQuery, kTexts[0]}, {kTexts[1], kQuery}};
  BOOST_TEST(model->as<PairScorer>(Use::rerank).score_names() == labels,
             boost::test_tools::per_element());
  const auto scores = pair_scores(session, *model, pairs);
  BOOST_TEST_REQUIRE(scores[1].size() == 3U);
  const auto second = logits(folder, folder.ids(kTexts[1], kQuery), true);
  for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(std::abs(scores[1][i] - second[i]) < 1e-5);
}

BOOST_AUTO_TEST_CASE(models_that_do_not_read_pairs_are_rejected) {
  const TinyFolder folder("bert", "ForMaskedLM");
  check_error_message<FormatError>([&] { ranked(folder.path()); }, "does not score text pairs");
}

BOOST_AUTO_TEST_CASE(trained_similarity_models_give_the_same_scores_as_their_folders) {
  const Shell weft;
  const TinyFolder base("bert", "ForMaskedLM");
  const std::string data = weft.write("pairs.tsv",
                                      "5\tthe film\tthe film was good\n1\tbob\tthe river\n"
                                      "4\tmary saw bob\tmary\n0\tgood\tshe lives in york\n");
  for (const char* comparison : {"joint", "cosine"}) {
    BOOST_TEST_CONTEXT(comparison) {
      const std::string file = weft.path("sts.weft"), out = weft.path("sts/");
      const Outcome made =
          weft("train encoder --task similarity --from " + base.path() + " --data " + data +
               " --steps 2 --warmup 1 --batch 2 --validation-fraction 0 --comparison " +
               comparison + " --threads 2 --force --out " + file);
      BOOST_TEST_REQUIRE(made.code == 0, made.err);
      BOOST_TEST_REQUIRE(weft("convert " + file + " --out " + out).code == 0);
      if (comparison == std::string("joint")) {
        const auto before = ranked(file), after = ranked(out);
        for (std::size_t i = 0; i < before.size(); ++i) {
          BOOST_TEST(before[i].text == after[i].text);
          BOOST_TEST(std::abs(before[i].score - after[i].score) < 1e-4);
        }
      }
      const auto vectors = [&](const std::string& path) {
        const auto encoder = text_encoder(*load_model_for(Use::embed, path).model);
        Session session(*encoder->graph, encoder->store, {.threads = 1});
        return embed(session, *encoder, kTexts);
      };
      if (comparison == std::string("cosine")) {
        const Tensor before = vectors(file), after = vectors(out);
        for (std::int64_t i = 0; i < before.numel(); ++i)
          BOOST_TEST(std::abs(before.at(i) - after.at(i)) < 1e-5);
      }
      std::filesystem::remove_all(out);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_command_prints_the_best_texts_first) {
  const Shell weft;
  const TinyFolder folder(classifier_config("bert", {"LABEL_0"}));
  const auto best = ranked(folder.path());
  const std::string texts = weft.write(
      "texts.txt", kTexts[0] + "\n" + kTexts[1] + "\n" + kTexts[2] + "\n" + kTexts[3] + "\n");
  BOOST_TEST(best_texts(folder.path(), kQuery, kTexts)[0] == kTexts[best[0].text]);
  const std::string start = "rerank " + folder.path() + " --query '" + kQuery + "' ";
  const Outcome all = weft(start + "--input " + texts);
  BOOST_TEST_REQUIRE(all.code == 0, all.err);
  BOOST_TEST(std::count(all.out.begin(), all.out.end(), '\n') == 4);
  BOOST_TEST(contains(all.out, "  " + kTexts[best[0].text] + "\n"));
  BOOST_TEST(contains(all.err, "4 texts in "));
  const Outcome top = weft(start + "--input " + texts + " --top 2 --json");
  std::istringstream lines(top.out);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const json found = json::parse(line);
    BOOST_TEST(found["text"] == kTexts[best[count].text]);
    BOOST_TEST(found["line"] == best[count].text + 1);
    BOOST_TEST(std::abs(found["score"].get<double>() - best[count].score) < 1e-5);
  }
  BOOST_TEST(count == 2U);
  BOOST_TEST(weft("rerank " + folder.path() + " bob").code == 2);
  std::string longer;
  for (int i = 0; i < 60; ++i) longer += "film ";
  const Outcome cut = weft(start + "bob '" + longer + "'");
  BOOST_TEST(cut.code == 0);
  BOOST_TEST(contains(cut.err, "text 2: the first 40 of 67 tokens"));
}

BOOST_AUTO_TEST_CASE(the_embed_command_has_prompts_and_dimensions) {
  const Shell weft;
  const TinyFolder folder("bert", "ForMaskedLM");
  folder.write("modules.json", R"([{"type": "sentence_transformers.models.Transformer"},)"
                               R"( {"type": "sentence_transformers.models.Pooling"}])");
  folder.write("1_Pooling/config.json", R"({"embedding_dimension": 16, "pooling_mode": "mean"})");
  folder.write("config_sentence_transformers.json",
               R"({"prompts": {"query": "the ", "passage": ""}, "default_prompt_name": "query",)"
               R"( "similarity_fn_name": "euclidean"})");
  folder.write("sentence_bert_config.json", R"({"max_seq_length": 6})");
  const auto vector = [&](const std::string& options) {
    const Outcome found = weft("embed " + folder.path() + " film --json " + options);
    BOOST_TEST_REQUIRE(found.code == 0, found.err);
    return json::parse(found.out)["vector"].get<std::vector<double>>();
  };
  BOOST_TEST(vector("") == vector("--prompt-name query"));
  BOOST_TEST(vector("") == vector("--prompt 'the '"));
  BOOST_TEST(vector("--no-prompt") == vector("--prompt-name passage"));
  BOOST_TEST(vector("") != vector("--no-prompt"));
  BOOST_TEST(vector("") == vector("--no-normalise"));
  BOOST_TEST(vector("") != vector("--normalise"));
  BOOST_TEST(vector("--dimensions 3").size() == 3U);
  BOOST_TEST(std::abs(query_vectors(folder.path(), {"film"}).at(0) - vector("")[0]) < 1e-5);
  const Outcome unknown = weft("embed " + folder.path() + " film --json --prompt-name q");
  BOOST_TEST(unknown.code == 1);
  BOOST_TEST(contains(unknown.err, "its prompts are passage, query"));
  check_error(weft("embed " + folder.path() + " film --json --prompt a --no-prompt"), 2,
              "give only one of --prompt, --prompt-name and --no-prompt");
  check_error(weft("embed " + folder.path() + " film --json --similar-prompt a"), 2,
              "need --similar");
  const std::string lines = weft.write("lines.txt", "the film\nthe film was very good\n");
  const Outcome similar = weft("embed " + folder.path() + " film --json --similar " + lines +
                               " --similar-prompt-name passage");
  BOOST_TEST_REQUIRE(similar.code == 0, similar.err);
  const json best = json::parse(similar.out)["similar"][0];
  BOOST_TEST(best["line"] == 1);
  BOOST_TEST(std::abs(best["euclidean"].get<double>()) < 1e-3);
  BOOST_TEST(contains(similar.err, "lines.txt, line 2: the first 6 of 7 tokens"));
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
