// The commands `weft run`, `weft generate` and `weft score` with Hugging Face folders, and
// --batch-invariant.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "weft/serialization/safetensors.h"
#include "weft/tests/support/program_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(run_command)
namespace {

const std::string kGoldens = std::string(WEFT_FIXTURES) + "/goldens/";
const std::string kFiles = std::string(WEFT_FIXTURES) + "/weft_files/";

BOOST_AUTO_TEST_CASE(run_writes_outputs_and_gradients_under_the_reference_names) {
  const Shell weft;
  const std::string model = kGoldens + "distilbert-seqcls-regression";
  const std::string arguments = "run " + model + " --inputs " + model +
                                "/inputs.safetensors --outputs " + weft.path("o.safetensors");
  BOOST_REQUIRE_EQUAL(weft(arguments + " --gradients").code, 0);
  const TensorMap ours = read_safetensors(weft.path("o.safetensors")).tensors;
  const TensorMap theirs = read_safetensors(model + "/outputs.safetensors").tensors;
  BOOST_TEST(ours.size() == theirs.size());
  for (const auto& [name, expected] : theirs) {
    BOOST_REQUIRE(ours.contains(name));
    const Tensor& actual = ours.at(name);
    BOOST_REQUIRE(actual.sizes() == expected.sizes());
    double most = 1e-3;
    for (std::int64_t i = 0; i < expected.numel(); ++i)
      most = std::max(most, std::abs(expected.at(i)));
    for (std::int64_t i = 0; i < expected.numel(); ++i)
      BOOST_REQUIRE(std::abs(actual.at(i) - expected.at(i)) < 1e-4 * most);
  }
  BOOST_REQUIRE_EQUAL(weft(arguments).code, 0);
  for (const auto& [name, tensor] : read_safetensors(weft.path("o.safetensors")).tensors)
    BOOST_TEST(!name.starts_with("grad."));
  check_error(weft(arguments + " --precision best"), 2, "best");
}

BOOST_AUTO_TEST_CASE(gradients_require_labels) {
  const Shell weft;
  const std::string model = kGoldens + "roberta-mlm-default";
  TensorMap inputs = read_safetensors(model + "/inputs.safetensors").tensors;
  inputs.erase("labels");
  write_safetensors(weft.path("i.safetensors"), inputs);
  const std::string arguments = "run " + model + " --inputs " + weft.path("i.safetensors") +
                                " --outputs " + weft.path("o.safetensors");
  BOOST_TEST(weft(arguments).code == 0);
  check_error(weft(arguments + " --gradients"), 2, "--gradients needs a loss");
  check_error(weft("run nowhere --inputs a --outputs b"), 1, "nowhere");
}

BOOST_AUTO_TEST_CASE(generate_prints_ids_for_models_in_folders) {
  const Shell weft;
  const auto generate = [&](const std::string& arguments) {
    return weft("generate " + (arguments.front() == '/' ? "" : kGoldens) + arguments);
  };
  const auto ids = [&](const std::string& arguments) {
    const Outcome found = generate(arguments);
    BOOST_TEST_INFO(arguments + ": " + found.err);
    BOOST_REQUIRE_EQUAL(found.code, 0);
    return found.out;
  };
  const std::string prompt = "t5-v1.1-default --prompt-ids \"38 37 23 62 86 85 58\"";
  BOOST_TEST(ids(prompt + " --ids --max-length 11") == "0 9 21 54\n");
  BOOST_TEST(ids(prompt + " --ids --max-length 11 --beams 4 --length-penalty 1") ==
             "0 67 42 21 9 100 81 100 100 100 9\n");
  check_error(generate(prompt), 2, "give --prompt-ids \"1 2 3\" and --ids");
  check_error(generate("t5-v1.1-default --prompt-ids \"1 x\" --ids"), 2, "'x' is not an id");
  const std::string copy = weft.path("penalised");
  std::filesystem::copy(kGoldens + "t5-v1.1-default", copy);
  const auto rejects = [&](const std::string& json, const std::string& message) {
    weft.write("penalised/generation_config.json",
               R"({"decoder_start_token_id": 0, )" + json + "}");
    check_error(generate(copy + " --prompt-ids 1 --ids"), 1, message);
  };
  rejects(R"("diversity_penalty": 1.5)",
          "generation_config.json: diversity_penalty is 1.5: generation with this setting is not "
          "supported");
  rejects(R"("penalty_alpha": 0.6)", "contrastive search is not supported");
  rejects(R"("do_sample": true, "typical_p": 0.9)",
          "typical_p is 0.9: sampling with this setting is not supported");
  rejects(R"("stop_strings": ["."])", "stop strings in this file are not supported");
  rejects(
      R"("surprise": 1)",
      "generation_config.json: unknown key surprise = 1, which might change the generated output");
  rejects(R"("early_stopping": "soon")", "'early_stopping' must be true, false or \"never\"");
  rejects(R"("bad_words_ids": [[]])", "'bad_words_ids' must contain lists of ids, not []");
  rejects(R"("eos_token_id": ["a"])", "'eos_token_id' must contain ids, not \"a\"");
  rejects(R"("forced_decoder_ids": [[1]])", "must contain pairs of position and id, not [1]");
  rejects(R"("forced_eos_token_id": [1, 2])", "forced_eos_token_id contains several ids");
  weft.write("penalised/generation_config.json", "{}");
  check_error(generate(copy + " --prompt-ids 1 --ids"), 1, "sets no decoder_start_token_id");
  check_error(
      generate("bert-qa-default --prompt-ids \"1\" --ids"), 1,
      "bert-qa-default holds a question answering model, which does not generate text; use it "
      "with weft answer, weft embed");
  // A decoder continues the prompt.
  const std::string gpt = "gpt2-default --ids --prompt-ids ";
  BOOST_TEST(ids(gpt + "\"19 94 70 44 46\" --max-length 17") ==
             "19 94 70 44 46 59 59 59 59 59 59 55 67\n");
  BOOST_TEST(ids(gpt + "\"19 94 70 44 46\" --max-length 17 --beams 4") ==
             "19 94 70 44 46 59 59 59 59 59 59 55 67\n");
  check_error(generate(gpt + "\"1 2\" --max-length 99"), 1, "exceeds the model's 24 positions");
  const std::string many = ids(gpt + "\"1 2\" --tokens 60 --min-tokens 60 --slide");
  BOOST_TEST(std::count(many.begin(), many.end(), ' ') == 61);
  check_error(generate(gpt + "\"1 2 3\" --max-length 3"), 1, "there is no room for new tokens");
  // Several prompts in one batch give the same results as single prompts. The prompts and results
  // come from the reference, which does not pad the prompts.
  BOOST_TEST(ids(gpt + "\"19 94 70 44 46\" --prompt-ids \"64 31 90 73\" --prompt-ids "
                       "\"91 95 20\" --max-length 17") ==
             "19 94 70 44 46 59 59 59 59 59 59 55 67\n64 31 90 73 14 67\n91 95 20 76 23 67\n");
  weft.write("prompts", "64 31 90 73\n\n91 95 20\n");
  BOOST_TEST(ids("gpt2-default --ids --max-length 17 --prompts " + weft.path("prompts")) ==
             "64 31 90 73 14 67\n91 95 20 76 23 67\n");
}

BOOST_AUTO_TEST_CASE(generate_applies_or_rejects_every_option) {
  const Shell weft;
  const std::string gpt = "gpt2-default --ids --prompt-ids \"19 94 70 44 46\" ";
  const auto outcome = [&](const std::string& arguments) {
    return weft("generate " + kGoldens + arguments);
  };
  const auto ids = [&](const std::string& arguments) {
    const Outcome found = outcome(arguments);
    BOOST_TEST_INFO(arguments + ": " + found.err);
    BOOST_REQUIRE_EQUAL(found.code, 0);
    return found.out;
  };
  // Greedy search continues this prompt with 59 59 59 59 59 59 55 67.
  BOOST_TEST(ids(gpt + "--tokens 2") == "19 94 70 44 46 59 59\n");
  BOOST_TEST(ids(gpt + "--tokens 9 --stop-ids \"3 55\"") ==
             "19 94 70 44 46 59 59 59 59 59 59 55\n");
  BOOST_TEST(ids(gpt + "--tokens 9 --stop-sequence \"59 59 59\"") == "19 94 70 44 46 59 59 59\n");
  BOOST_TEST(ids(gpt + "--tokens 2 --force 6:8") == "19 94 70 44 46 59 8\n");
  BOOST_TEST(ids(gpt + "--tokens 3 --forbid-ids 59").find("59") == std::string::npos);
  BOOST_TEST(ids(gpt + "--tokens 4 --repetition-penalty 9").find("59 59") == std::string::npos);
  BOOST_TEST(ids(gpt + "--tokens 6 --no-repeat-ngram 1").find("59 59") == std::string::npos);
  const std::string longer = ids(gpt + "--max-length 17 --min-length 15");
  BOOST_TEST(longer.find(" 67 ") == std::string::npos);
  BOOST_TEST(ids(gpt + "--max-length 17 --min-tokens 10") == longer);
  BOOST_TEST(ids(gpt + "--greedy --tokens 2") == ids(gpt + "--beams 1 --tokens 2"));
  const std::string four = ids(gpt +
                               "--max-length 17 --beams 4 --length-penalty 2 "
                               "--early-stopping true --results 3");
  BOOST_TEST(four ==
             "19 94 70 44 46 59 59 59 45 45 45 45 23 23 23 23 57\n"
             "19 94 70 44 46 59 59 59 45 45 45 45 23 23 23 23 15\n"
             "19 94 70 44 46 59 59 59 45 45 45 45 23 23 23 23 32\n");
  BOOST_TEST(!ids(gpt + "--max-length 17 --beams 4 --early-stopping never").empty());
  const std::string drawn = ids(gpt + "--tokens 9 --sample --results 4 --seed 3");
  BOOST_TEST(std::count(drawn.begin(), drawn.end(), '\n') == 4);
  BOOST_TEST(ids(gpt + "--tokens 9 --sample --results 4 --seed 3") == drawn);
  BOOST_TEST(ids(gpt + "--tokens 9 --sample --results 4 --seed 4") != drawn);
  BOOST_TEST(ids(gpt + "--tokens 9 --sample --results 4 --seed 3 --temperature 0.2") != drawn);
  for (const char* sure : {"--top-k 1", "--top-p 0.000001", "--min-p 1"})
    BOOST_TEST(ids(gpt + "--tokens 2 " + sure) == "19 94 70 44 46 59 59\n", sure);
  const std::string t5 =
      "t5-v1.1-default --ids --max-length 11 --prompt-ids "
      "\"38 37 23 62 86 85 58\" ";
  BOOST_TEST(ids(t5 + "--start-ids \"0 9\"") == "0 9 21 54\n");
  BOOST_TEST(ids(t5 + "--prompt-ids \"47 41 81 99 76\"") == "0 9 21 54\n0 26 54\n");

  const auto rejects = [&](const std::string& arguments, const std::string& message) {
    check_error(outcome(arguments), 2, message);
  };
  rejects(gpt + "--greedy --temperature 2", "--greedy does not sample");
  rejects(gpt + "--greedy --beams 2", "--greedy searches with a single beam");
  rejects(gpt + "--beams 2 --top-k 4", "--beams does not sample");
  rejects(gpt + "--seed 4", "--seed is only for sampling: add --sample");
  rejects(gpt + "--length-penalty 2", "are only for beam search: add --beams");
  rejects(gpt + "--early-stopping true", "are only for beam search: add --beams");
  rejects(gpt + "--beams 2 --early-stopping soon",
          "--early-stopping: soon is not one of {true,false,never}");
  rejects(gpt + "--results 2", "without sampling, results must not exceed beams (1), but it is 2");
  rejects(gpt + "--tokens 4 --max-length 4", "give only one of them");
  rejects(gpt + "--force 4", "--force must be POSITION:ID, not '4'");
  rejects(gpt + "--force \"4:1 2\"", "--force must be POSITION:ID, not '4:1 2'");
  rejects(gpt + "--stop-ids x", "--stop-ids: 'x' is not an id");
  rejects(gpt + "--stop a", "--stop needs a tokenizer because it is a text: use --stop-sequence");
  rejects(gpt + "--start-ids 4", "--start-ids is for encoder-decoders");
  rejects(gpt + "--prompt a", "the model reads and writes ids");
  rejects(gpt + "--repetition-penalty 0", "repetition_penalty must be positive, not 0");
  rejects(gpt + "--beams 2 --stop-sequence 1", "not supported with beams");
  check_error(outcome(t5 + "--slide"), 2, "--slide has no effect");
  check_error(outcome(gpt + "--forbid-ids 999"), 1, "id 999 is outside the vocabulary (size 101)");
}

BOOST_AUTO_TEST_CASE(score_prints_log_probabilities_for_models_in_folders) {
  const Shell weft;
  const auto score = [&](const std::string& arguments) {
    return weft("score " + kGoldens + arguments);
  };
  // The reference computes the beam score as the total divided by the length, which is 6: one
  // padding id, the 4 prompt ids, and the continuation without its end id.
  const std::string out =
      score("gpt2-default --prompt-ids \"64 31 90 73\" --continuation-ids \"14 67\"").out;
  BOOST_TEST(out.starts_with("14 "));
  BOOST_TEST(contains(out, "\n67 "));
  BOOST_TEST_REQUIRE(contains(out, "of 2 ids, perplexity "));
  const double total = std::stod(out.substr(out.find("total") + 5));
  BOOST_TEST(std::abs(total - -0.33726427 * 6) < 1e-4);
  const Outcome two =
      score("gpt2-default --continuation-ids \"14 67\" --continuation-ids \"5 6 7\"");
  BOOST_TEST(two.code == 0);
  BOOST_TEST(contains(two.out, "\n---\n6 "));
  BOOST_TEST(score("t5-v1.1-default --prompt-ids \"1 2\" --continuation-ids 9").code == 0);
  const auto rejects = [&](const std::string& arguments, const std::string& message) {
    check_error(score(arguments), 2, message);
  };
  rejects("gpt2-default", "give --continuation, --continuation-ids");
  rejects("gpt2-default --continuation a", "give --prompt-ids and --continuation-ids");
  rejects("gpt2-default --continuation-ids 4", "without a prompt the first id is not scored");
  rejects("gpt2-default --continuation-ids \"4 x\"", "--continuation-ids: 'x' is not an id");
  rejects("gpt2-default --prompt-ids 1 --prompt-ids 2 --continuation-ids 4",
          "there are 2 prompts for 1 continuations");
  rejects("gpt2-default --start-ids 1 --prompt-ids 1 --continuation-ids 4",
          "--start-ids is for encoder-decoders");
  rejects("t5-v1.1-default --continuation-ids 4", "an encoder-decoder needs a prompt");
  check_error(score("bert-qa-default --continuation-ids 4"), 1,
              "bert-qa-default holds a question answering model, which does not score texts; use "
              "it with weft answer, weft embed");
}

/// Returns texts of 1 to 8 words.
std::vector<std::string> texts_of_all_lengths() {
  const std::vector<std::string> words = {"the", "of", "to", "and", "in"};
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < 12; ++i) {
    std::string text = words[i % words.size()];
    for (std::size_t j = 0; j < i * 5 % 8; ++j) text += " " + words[(i + 2 * j) % words.size()];
    texts.push_back(text);
  }
  return texts;
}

std::string joined_lines(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text + "\n";
  return all;
}

BOOST_AUTO_TEST_CASE(batch_invariant_vectors_do_not_depend_on_the_other_texts) {
  const Shell weft;
  const std::vector<std::string> texts = texts_of_all_lengths();
  const std::string input = weft.write("texts.txt", joined_lines(texts));
  // The floats of a .npy file follow a header of the length in bytes 8 and 9.
  const auto vectors = [&](const std::string& arguments) {
    const std::string out = weft.path("v.npy");
    const Outcome outcome =
        weft("embed " + kFiles + "encoder-mlm.weft " + arguments + " --threads 2 --out " + out);
    BOOST_TEST_REQUIRE(outcome.code == 0, outcome.err);
    const std::string bytes = read_whole_file(out);
    BOOST_TEST_REQUIRE(bytes.size() > 10U);
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    return bytes.substr(10 + byte(8) + 256U * byte(9));
  };
  for (const bool invariant : {false, true}) {
    const std::string option = invariant ? " --batch-invariant" : "";
    const std::string together = vectors("--input " + input + option);
    const std::size_t row = together.size() / texts.size();
    std::size_t same = 0;
    for (std::size_t i = 0; i < texts.size(); ++i)
      same += vectors("'" + texts[i] + "'" + option) == together.substr(i * row, row) ? 1 : 0;
    // Without the option some last bits differ; otherwise, this test would show nothing.
    BOOST_TEST((same == texts.size()) == invariant, same << " of " << texts.size());
  }
}

BOOST_AUTO_TEST_CASE(batch_invariant_scores_do_not_depend_on_the_other_texts) {
  const Shell weft;
  const std::vector<std::string> texts = {"the of", "to the of and", "of the to in", "the in of"};
  const std::string score = "score " + kFiles + "gpt.weft --json --batch-invariant ";
  std::string alone;
  for (const std::string& text : texts) alone += weft(score + "--continuation '" + text + "'").out;
  const Outcome together = weft(score + "--input " + weft.write("texts.txt", joined_lines(texts)));
  BOOST_TEST(together.code == 0, together.err);
  BOOST_TEST(together.out == alone);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
