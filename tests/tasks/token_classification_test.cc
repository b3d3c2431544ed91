// Token classification: tagged files, span scores, and taggers that are trained, resumed,
// fine-tuned from other models and quantised.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "small_encoder.h"
#include "weft/core/error.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/data/formats/tagged_text.h"
#include "weft/models/hf/folder.h"
#include "weft/models/metrics/span_f1.h"
#include "weft/models/tasks/text_classification/text_classifier.h"
#include "weft/models/tasks/token_classification/memorised_words.h"
#include "weft/models/tasks/token_classification/token_classifier.h"
#include "weft/models/training/pretrained.h"
#include "weft/models/training/trainable.h"
#include "weft/models/training/weights.h"
#include "weft/tests/support/program_shell.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(token_classification)
namespace {

const std::string kTowns = std::string(WEFT_FIXTURES) + "/tagged/towns.conll";
const Texts kTags = {"O", "B-person", "I-person", "B-town", "I-town"};

std::vector<TaggedSentence> towns() { return read_tagged_text(Texts{kTowns}); }

SentencePieceTokenizer town_tokenizer() {
  Texts texts;
  for (const TaggedSentence& sentence : towns()) {
    texts.emplace_back();
    for (const std::string& word : sentence.words) texts.back() += word + " ";
  }
  return SentencePieceTokenizer::train(texts, {.vocab = 60, .character_coverage = 1});
}

TokenClassifier tagger(std::int64_t steps = 8, std::int64_t context = 32) {
  EncoderConfig config = small();
  config.context = context;
  return trainable(build_token_classifier(config, town_tokenizer(), kTags, settings(steps)));
}

TrainOutcome run(TokenClassifier& model, std::int64_t stop_after = 0, int threads = 1) {
  const TaggedRows rows = tagged_rows(model, towns());
  Session session(*model.graph, model.store, {.seed = model.settings.seed, .threads = threads});
  Trainer trainer(session, token_classifier_task(session, model, rows, rows),
                  {.settings = model.settings,
                   .history = model.history,
                   .save = [&](const TrainHistory& history) { model.history = history; },
                   .stop_after = stop_after});
  return trainer.run();
}

BOOST_AUTO_TEST_CASE(tagged_files_may_have_tabs_spaces_and_additional_columns) {
  const TextFiles files("tagged");
  const Texts paths = {files.write("a",
                                   "\xEF\xBB\xBF"
                                   "-DOCSTART- -X- O O\n\n"
                                   "New York\tB-town\r\n is\tO\r\n\t\r\n\n\n"
                                   "EU NNP B-NP I-org\nrejects  VBZ B-VP O"),
                       files.write("b", "x O\n-DOCSTART-\tO\ny\tB-a-b\n\n")};
  const std::vector<TaggedSentence> found = read_tagged_text(paths);
  BOOST_REQUIRE(found.size() == 4U);
  BOOST_TEST(found[0].words == (Texts{"New York", "is"}), boost::test_tools::per_element());
  BOOST_TEST(found[0].tags == (Texts{"B-town", "O"}), boost::test_tools::per_element());
  BOOST_TEST(found[1].words == (Texts{"EU", "rejects"}), boost::test_tools::per_element());
  BOOST_TEST(found[1].tags == (Texts{"I-org", "O"}), boost::test_tools::per_element());
  BOOST_TEST(found[2].words == Texts{"x"}, boost::test_tools::per_element());
  BOOST_TEST(found[3].tags == Texts{"B-a-b"}, boost::test_tools::per_element());
  BOOST_TEST(tags_of(found) == (Texts{"O", "B-a-b", "I-a-b", "B-org", "I-org", "B-town", "I-town"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(errors_in_tagged_files_state_file_and_line) {
  const TextFiles files("tagged_mistakes");
  const auto fails = [&](const std::string& text, const std::string& part) {
    const Texts paths = {files.write("t", text)};
    check_error_message<FormatError>([&] { read_tagged_text(paths); }, files.path("t") + part);
  };
  fails("a O\n\nrome\n", ":3: 'rome' has no tag: expected a word and a tag separated by a tab");
  fails("a\tO\nrome\t\n", ":2: the tag of 'rome' is empty");
  fails("\tO\n", ":1: there is no word before the tag");
  fails("\f O\n", ":1: there is no word before the tag");
  for (const std::string tag : {"B", "B-", "B_town", "E-town", "S-town", "o", "town", "-town"})
    fails("a O\nrome " + tag, ":2: the tag '" + tag + "' is not O, B-TYPE or I-TYPE");
  fails("\n \n-DOCSTART- O\n", " has no sentences");
  fails("a\xFF O\n", ", line 1: ");
  check_error_message<IoError>([&] { read_tagged_text(Texts{files.path("none")}); },
                               files.path("none"));
}

BOOST_AUTO_TEST_CASE(sentences_are_held_out_by_seed_and_keep_their_order) {
  std::vector<TaggedSentence> all;
  for (int i = 0; i < 40; ++i) all.push_back({{std::to_string(100 + i)}, {"O"}});
  const auto words = [](const std::vector<TaggedSentence>& sentences) {
    Texts found;
    for (const TaggedSentence& sentence : sentences) found.push_back(sentence.words.front());
    return found;
  };
  const TaggedSplit split = split_sentences(all, 0.1, 3);
  const Texts train = words(split.train), held_out = words(split.held_out);
  BOOST_TEST(train.size() == 36U);
  BOOST_TEST(held_out.size() == 4U);
  BOOST_TEST(std::is_sorted(train.begin(), train.end()));
  BOOST_TEST(std::is_sorted(held_out.begin(), held_out.end()));
  for (const std::string& word : held_out)
    BOOST_TEST(std::count(train.begin(), train.end(), word) == 0);
  BOOST_TEST((words(split_sentences(all, 0.1, 3).held_out) == held_out));
  BOOST_TEST((words(split_sentences(all, 0.1, 4).held_out) != held_out));
  BOOST_TEST(split_sentences(all, 0, 3).held_out.empty());
  BOOST_TEST(split_sentences(all, 0.001, 3).held_out.size() == 1U);
  all.resize(2);
  BOOST_TEST(split_sentences(all, 0.99, 3).train.size() == 1U);
  check_error_message<ArgumentError>([&] { split_sentences(all, 1, 3); },
                                     "the held-out fraction must be in [0, 1), not 1");
}

BOOST_AUTO_TEST_CASE(spans_match_seqeval) {
  const auto spans = [](const Texts& tags) { return tag_spans(tags); };
  using Spans = std::vector<TagSpan>;
  BOOST_TEST((spans({"B-a", "I-a", "O", "B-b"}) == Spans{{"a", 0, 2}, {"b", 3, 4}}));
  // A span without a B tag may start after O or at the beginning of the sentence.
  BOOST_TEST((spans({"I-a", "I-a", "O", "I-b"}) == Spans{{"a", 0, 2}, {"b", 3, 4}}));
  // Spans may be adjacent.
  BOOST_TEST((spans({"B-a", "B-a", "I-a", "B-a"}) == Spans{{"a", 0, 1}, {"a", 1, 3}, {"a", 3, 4}}));
  // An I tag of another type begins a new span.
  BOOST_TEST((spans({"B-a", "I-b", "I-b", "I-a"}) == Spans{{"a", 0, 1}, {"b", 1, 3}, {"a", 3, 4}}));
  BOOST_TEST((spans({"B-a-b", "I-a-b", "I-a"}) == Spans{{"a-b", 0, 2}, {"a", 2, 3}}));
  BOOST_TEST(spans({"O", "O"}).empty());
  BOOST_TEST(spans({}).empty());
  check_error_message<ArgumentError>(
      [&] {
        spans({"O", "B"});
      },
      "the tag 'B' of word 1 is not O, B-TYPE");
}

BOOST_AUTO_TEST_CASE(a_span_is_correct_if_type_and_both_ends_match) {
  // In this example from the documentation of seqeval, F1 is 0.5.
  SpanScores scores;
  scores.add(Texts{"O", "O", "O", "B-misc", "I-misc", "I-misc", "O"},
             Texts{"O", "O", "B-misc", "I-misc", "I-misc", "I-misc", "O"});
  scores.add(Texts{"B-per", "I-per", "O"}, Texts{"B-per", "I-per", "O"});
  BOOST_TEST(scores.all().f1() == 0.5);
  BOOST_TEST(scores.types().at("misc").f1() == 0);
  BOOST_TEST(scores.types().at("per").f1() == 1);

  // One correct span, one span with a wrong type (for which there are no true spans), one span
  // split in two, one surplus span and one missed span.
  SpanScores more;
  more.add(Texts{"I-a", "I-a", "O", "B-a", "B-b", "I-b", "I-b", "O", "B-b"},
           Texts{"B-a", "I-a", "B-c", "B-b", "B-b", "I-b", "B-b", "O", "O"});
  const SpanCounts all = more.all();
  BOOST_TEST(all.truth == 4);
  BOOST_TEST(all.found == 5);
  BOOST_TEST(all.right == 1);
  BOOST_TEST(all.precision() == 1.0 / 5);
  BOOST_TEST(all.recall() == 1.0 / 4);
  BOOST_TEST(all.f1() == 2.0 / 9, boost::test_tools::tolerance(1e-15));
  BOOST_TEST(more.types().at("a").recall() == 0.5);
  BOOST_TEST(more.types().at("c").truth == 0);
  BOOST_TEST(more.types().at("c").precision() == 0);
  BOOST_TEST(contains(more.table(), "  a        1.0000  0.5000  0.6667         2\n"));
  BOOST_TEST(contains(more.table(), "  all      0.2000  0.2500  0.2222         4\n"));

  SpanScores none;
  none.add(Texts{"O"}, Texts{"O"});
  BOOST_TEST(none.all().f1() == 0);
  check_error_message<ArgumentError>([&] { none.add(Texts{"O"}, Texts{}); },
                                     "0 tags were predicted for a sentence of 1 words");
}

BOOST_AUTO_TEST_CASE(words_are_tagged_by_their_first_piece_and_long_sentences_are_truncated) {
  const TokenClassifier model = tagger(8, 8);
  const TaggedRows rows =
      tagged_rows(model, {{{"annabert", "rome"}, {"B-person", "I-town"}},
                          {{"anna", "xyxyxyxyxyxy", "oslo", "carl"}, {"O", "O", "B-town", "O"}}});
  const WordRow& row = rows.rows[0];
  const auto first = model.tokenizer.encode("annabert"), second = model.tokenizer.encode("rome");
  BOOST_TEST(first.size() > 1U);
  BOOST_TEST(model.tokenizer.is_word_start(second.front()));
  std::vector<std::int32_t> ids = {model.tokenizer.cls_id()};
  ids.insert(ids.end(), first.begin(), first.end());
  ids.insert(ids.end(), second.begin(), second.end());
  ids.push_back(model.tokenizer.sep_id());
  BOOST_TEST(row.ids == ids, boost::test_tools::per_element());
  for (std::size_t i = 0; i < ids.size(); ++i)
    BOOST_TEST(row.labels[i] == (i == 1 ? 1 : i == first.size() + 1 ? 4 : -100));

  BOOST_TEST(rows.words == 6);
  BOOST_TEST(rows.cut_sentences == 1);
  BOOST_TEST(rows.cut_words == 2);
  BOOST_TEST(rows.rows[1].ids.size() == 8U);
  BOOST_TEST(rows.rows[1].firsts[3] == -1);
  BOOST_TEST(rows.rows[1].words_seen() == 2);
  // Words after the truncation point are tagged O, and so are words that consist only of white
  // space.
  Session session(*model.graph, model.store, {.seed = 1});
  session.initialise();
  const std::vector<Texts> sentences = {rows.sentences[1].words, {}, {"\f"}};
  check_error_message<TextError>([&] { tag_words(session, model, sentences); }, "text 1: it has ");
  std::vector<CutText> cut;
  const auto tags =
      tag_words(session, model, sentences, [&](const CutText& c) { cut.push_back(c); });
  BOOST_TEST(cut.size() == 1U);
  BOOST_TEST(cut[0].text == 0U);
  BOOST_TEST(cut[0].kept == 8);
  BOOST_TEST(tags[0].size() == 4U);
  BOOST_TEST(tags[0][2] == "O");
  BOOST_TEST(tags[0][3] == "O");
  BOOST_TEST(tags[1].empty());
  BOOST_TEST(tags[2] == Texts{"O"}, boost::test_tools::per_element());
  check_error_message<DataError>(
      [&] {
        tagged_rows(model, {{{"x"}, {"B-lake"}}});
      },
      "unknown tag B-lake for 'x': the model has the tags O, B-person");
}

BOOST_AUTO_TEST_CASE(the_memorising_baseline_predicts_the_most_frequent_tag) {
  const std::vector<TaggedSentence> train = {
      {{"Anna", "saw", "New", "York"}, {"B-person", "O", "B-town", "I-town"}},
      {{"anna", "is", "new"}, {"B-town", "O", "O"}},
      {{"New", "anna"}, {"O", "B-town"}}};
  const MemorisedWords written(train, false), folded(train, true);
  const Texts sentence = {"Anna", "anna", "ANNA", "New", "new", "York", "oslo"};
  // Both tags of "New" are equally frequent, so the alphabetically first tag is used.
  BOOST_TEST(written(sentence) == (Texts{"B-person", "B-town", "O", "B-town", "O", "I-town", "O"}),
             boost::test_tools::per_element());
  BOOST_TEST(folded(sentence) == (Texts{"B-town", "B-town", "B-town", "O", "O", "I-town", "O"}),
             boost::test_tools::per_element());

  // The validation sentences determine whether case is folded; the baseline is evaluated on the
  // test sentences.
  const std::vector<TaggedSentence> shouted = {{{"ANNA"}, {"B-town"}}},
                                    polite = {{{"Anna"}, {"B-person"}}};
  const TaggingBaseline for_shouted = memorised_words_baseline(train, shouted, polite),
                        for_polite = memorised_words_baseline(train, polite, polite),
                        for_none = memorised_words_baseline(train, {}, polite);
  BOOST_TEST(for_shouted.fold_case);
  BOOST_TEST(for_shouted.validation_f1 == 1);
  BOOST_TEST(for_shouted.test.all().f1() == 0);
  BOOST_TEST(!for_polite.fold_case);
  BOOST_TEST(for_polite.test.all().f1() == 1);
  BOOST_TEST(!for_none.fold_case);
}

BOOST_AUTO_TEST_CASE(taggers_learn_and_resumed_runs_are_bit_exact) {
  const TextFiles files("tagger");
  TokenClassifier straight = tagger(150);
  const TrainOutcome whole = run(straight);
  BOOST_TEST(whole.evaluation.metrics[0].name == "f1");
  BOOST_TEST(whole.evaluation.metrics[0].value == 1);

  TokenClassifier first = tagger(150);
  run(first, 37, 2);
  save_model(files.path("a.weft"), first);
  TokenClassifier second = load_model<TokenClassifier>(files.path("a.weft"));
  run(second, 0, 3);
  check_same_weights(straight, second);

  save_model(files.path("b.weft"), second);
  const TokenClassifier loaded = load_model<TokenClassifier>(files.path("b.weft"));
  BOOST_TEST(loaded.task == "token-classification");
  BOOST_TEST(loaded.tags == kTags, boost::test_tools::per_element());
  Session session(*loaded.graph, loaded.store);
  // The tags of a sentence depend neither on padding nor on the other sentences in the batch.
  const std::vector<Texts> texts = {{"dora", "lives", "in", "new", "york", "now"},
                                    {"nobody", "came", "today"}};
  const auto tags = tag_words(session, loaded, texts);
  BOOST_TEST(tags[0] == (Texts{"B-person", "O", "O", "B-town", "I-town", "O"}),
             boost::test_tools::per_element());
  BOOST_TEST(tags[1] == (Texts{"O", "O", "O"}), boost::test_tools::per_element());
  BOOST_TEST((tag_words(session, loaded, {texts.data() + 1, 1})[0] == tags[1]));

  // Quantise the model to int8, and evaluate it on some of the sentences.
  const QuantizedModel made =
      quantize({loaded.program("evaluate"), loaded.program("tag")}, *loaded.store, {});
  TokenClassifier narrow = loaded;
  narrow.programs = {{"evaluate", made.programs[0]}, {"tag", made.programs[1]}};
  narrow.graph = made.graph;
  narrow.store = made.store;
  const TaggedRows rows = tagged_rows(narrow, towns());
  Session small_session(*narrow.graph, narrow.store);
  const TaggingScores whole_scores = score_tags(session, loaded, rows),
                      narrow_scores = score_tags(small_session, narrow, rows);
  BOOST_TEST(whole_scores.loss == whole.evaluation.loss);
  BOOST_TEST(narrow_scores.spans.all().f1() == 1);
  BOOST_TEST(narrow_scores.loss != whole_scores.loss);
  BOOST_TEST(std::abs(narrow_scores.loss - whole_scores.loss) < 0.05);
  BOOST_TEST(score_tags(session, loaded, rows, 5).spans.all().truth <
             whole_scores.spans.all().truth);
}

BOOST_AUTO_TEST_CASE(taggers_match_the_outputs_of_their_folder) {
  const TextFiles files("tagger_folder");
  const std::string path = files.path("bert");
  const nlohmann::json config = {
      {"model_type", "bert"},      {"architectures", {"BertForTokenClassification"}},
      {"vocab_size", 60},          {"hidden_size", 16},
      {"num_hidden_layers", 2},    {"num_attention_heads", 2},
      {"intermediate_size", 32},   {"max_position_embeddings", 16},
      {"type_vocab_size", 2},      {"initializer_range", 0.3},
      {"num_labels", kTags.size()}};
  Graph graph;
  const hf::Model reference = hf::build_model(
      graph, config.dump(),
      {{"input_ids", {DType::i32, {1, 6}}}, {"attention_mask", {DType::i32, {1, 6}}}});
  const auto store = std::make_shared<VariableStore>();
  Session other(graph, store, {.seed = 5});
  other.initialise();
  hf::write_folder(path, reference, graph, *store);
  files.write("bert/spiece.model", town_tokenizer().to_bytes());

  const Pretrained base = load_pretrained(path);
  const TokenClassifier model = trainable(
      build_token_classifier(base.config_of<EncoderConfig>(), town_tokenizer(), kTags, settings()));
  const LoadReport report = load_weights(*model.store, *model.graph, base.weights, path);
  BOOST_TEST(report.missing.empty());
  BOOST_TEST(report.unexpected.empty());
  const Tensor ids = Tensor::of({1, 6}, std::vector<std::int32_t>{4, 20, 31, 42, 5, 0}),
               mask = Tensor::of({1, 6}, std::vector<std::int32_t>{1, 1, 1, 1, 1, 0});
  Program program("reference");
  program.output("logits", reference.outputs.at("logits"));
  const Tensor expected =
      other.run(program, {{"input_ids", ids}, {"attention_mask", mask}})["logits"];
  Session session(*model.graph, model.store);
  const Tensor found =
      session.run(model.program("tag"), {{"tokens", ids}, {"mask", mask}})["logits"];
  BOOST_TEST((found.sizes() == Sizes{1, 6, 5}));
  for (std::int64_t i = 0; i < 25; ++i) BOOST_TEST(std::abs(found.at(i) - expected.at(i)) < 1e-5);
}

BOOST_AUTO_TEST_CASE(weft_trains_and_evaluates_taggers) {
  const Shell weft;
  const std::string
      train = "train encoder --task tag --threads 2 --train " + kTowns,
      small =
          " --preset bert-mini --vocab 60 --layers 1 --heads 2 --width 16 --inner 32 --context 32"
          " --batch 4 --warmup 2 --steps 6",
      model = weft.path("m.weft"), out = " --out " + model;
  const Outcome made = weft(train + small + out + " --validation-fraction 0.2 --eval-every 3");
  BOOST_TEST(made.code == 0, made.err);
  BOOST_TEST(contains(made.out, "data      38 sentences of "));
  BOOST_TEST(contains(made.out,
                      " words for training, 10 for validation, 0 for testing; tags O, B-person"));
  BOOST_TEST(!contains(made.out, "truncated "));
  BOOST_TEST(contains(made.out, "  type    precision  recall      F1     spans\n"));
  const Outcome held_out = weft("evaluate " + model + " --train " + kTowns);
  BOOST_TEST(last_line(held_out.out).starts_with("held out  loss "));
  BOOST_TEST(contains(last_line(held_out.out), " spans in 10 sentences"));
  // Training prints the same line, followed by the baseline.
  BOOST_TEST(contains(made.out, "\n" + last_line(held_out.out) + "\nbaseline  span F1 "));
  BOOST_TEST(contains(last_line(made.out),
                      "every word gets its most frequent tag in the training set, with"));
  // Separate test files can be evaluated without the training data.
  const Outcome test = weft("evaluate " + model + " --test " + kTowns);
  BOOST_TEST(test.code == 0, test.err);
  BOOST_TEST(last_line(test.out).starts_with("test      loss "));
  BOOST_TEST(contains(last_line(test.out), " spans in 48 sentences"));

  const std::string next = " --steps 2 --batch 2 --warmup 1 --from " + model + " --out " +
                           weft.path("n.weft") + " --validation " + kTowns + " --test " + kTowns;
  const Outcome same = weft(train + next);
  BOOST_TEST(same.code == 0, same.err);
  BOOST_TEST(!contains(same.out, " new: "));
  BOOST_TEST(contains(same.out, "48 for validation, 48 for testing"));
  BOOST_TEST(contains(same.out, "\ntest      loss "));
  const std::string lakes =
      weft.write("lakes", "nobody O\n\ncomo B-lake\n\nshe O\ncame O\ntoday O\n");
  const Outcome other = weft("train encoder --task tag --train " + lakes +
                             " --context 4 --steps 2 --batch 2 --warmup 1 --from " + model +
                             " --reinit embeddings.positions.weight --out " + weft.path("n.weft"));
  BOOST_TEST(other.code == 0, other.err);
  BOOST_TEST(contains(other.out, "3 new: embeddings.positions.weight, classifier.weight"));
  BOOST_TEST(contains(other.out, "truncated to 4 tokens: 1 sentences, "));

  const auto fails = [&](const std::string& arguments, int code, const std::string& part) {
    BOOST_TEST_CONTEXT(arguments) { check_error(weft(arguments), code, part); }
  };
  fails("train encoder --task tag" + out, 2, "--train is required: files of words and tags");
  fails("train encoder --task tag --test " + kTowns + out, 2, "--train is required");
  fails("train encoder --task tag --resume " + model + " --test " + kTowns, 2,
        "--train is required");
  fails(train + small + out + " --validation-fraction 0.2 --validation " + kTowns, 2,
        "--validation-fraction applies only without --validation");
  fails("evaluate " + model + " --text " + kTowns, 2, "contains a word tagger: evaluate it");
  fails("evaluate " + model + " --test " + lakes, 1, "unknown tag B-lake for 'como'");
  fails(train + " --data " + kTowns + out, 2, "--data is for ");
  fails("train encoder --task tag --train " + weft.write("o", "a O\nb O\n") + out, 1,
        "every word has the tag O");
  fails("train encoder --task tag --train " + weft.path("text.txt") + out, 1,
        "text.txt:1: the tag");
  const Outcome tagged = weft("tag " + model + " 'anna  is in\tnew york' oslo");
  BOOST_TEST(tagged.code == 0, tagged.err);
  const std::vector<TaggedSentence> read = read_tagged_text(Texts{weft.write("t", tagged.out)});
  BOOST_REQUIRE(read.size() == 2U);
  BOOST_TEST(read[0].words == (Texts{"anna", "is", "in", "new", "york"}),
             boost::test_tools::per_element());
  fails("tag " + model + " 'a\xFF'", 1, "UTF-8");
  fails("classify " + model + " anna", 1, "word tagger, which does not classify");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
