// Invalid file contents and data are not usage errors, so the exit code is 1. Options and data that
// would be ignored silently are reported.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <limits>
#include <span>

#include "command_files.h"
#include "weft/models/training/lora_file.h"
#include "weft/serialization/safetensors.h"

namespace weft::program {
BOOST_AUTO_TEST_SUITE(data_errors)
namespace {

namespace fs = std::filesystem;

const CommandFiles& files() {
  static const CommandFiles shared;
  return shared;
}

BOOST_AUTO_TEST_CASE(adapters_are_merged_only_once_and_only_into_their_base_model) {
  const CommandFiles& weft = files();
  const std::string merge = "merge gpt.weft --out merged.weft --adapters ";
  // Train a different model with the same sizes.
  weft.run(weft.base("train gpt") + " --seed 7 --out other.weft");
  weft.check_rejected("merge other.weft --adapters tuned.lora.safetensors --out merged.weft",
                      "were not trained on the weights in other.weft");
  LoraAdapters adapters = load_lora(weft.path("tuned.lora.safetensors"));
  BOOST_TEST(!adapters.base.empty());
  const double scale = adapters.scale;
  adapters.scale = -scale;
  save_lora(weft.path("negative.safetensors"), adapters);
  weft.check_rejected(merge + "negative.safetensors", "which is not positive");
  adapters.scale = scale;
  Tensor& b = adapters.adapters.begin()->second.b;
  b = b.clone();
  b.mutable_data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  save_lora(weft.path("nan.safetensors"), adapters);
  weft.check_rejected(merge + "nan.safetensors", "holds values that are not finite");

  weft.run(merge + "tuned.lora.safetensors");
  weft.check_rejected("merge merged.weft --adapters tuned.lora.safetensors --out twice.weft",
                      "or the adapters are already merged into it");
  // Adapter files from older versions do not record their base model.
  adapters = load_lora(weft.path("tuned.lora.safetensors"));
  adapters.base.clear();
  // These adapters are finite, but their products overflow.
  LoraAdapters large = adapters;
  for (Tensor* part : {&large.adapters.begin()->second.a, &large.adapters.begin()->second.b}) {
    *part = part->clone();
    std::fill_n(part->mutable_data<float>(), part->numel(), 1e30F);
  }
  save_lora(weft.path("large.safetensors"), large);
  weft.check_rejected(merge + "large.safetensors", "' is inf at [");
  save_lora(weft.path("old.safetensors"), adapters);
  const Outcome old = weft(merge + "old.safetensors");
  BOOST_TEST(old.code == 0);
  BOOST_TEST(contains(old.out, "does not specify which model it was trained on"));
  for (const char* name : {"other.weft", "other.svg", "negative.safetensors", "nan.safetensors",
                           "merged.weft", "old.safetensors", "large.safetensors"})
    fs::remove(weft.path(name));
}

BOOST_AUTO_TEST_CASE(invalid_data_has_exit_code_1) {
  const CommandFiles& weft = files();
  weft.write("broken.weft", "no model");
  weft.write("empty.txt", "");
  weft.write("one.tsv", "a ship\tship a\n");
  weft.write("words.txt", "the quick brown fox jumps over the lazy dog\n");
  for (const std::string& arguments :
       {weft.base("train vit") + " --out new.weft --from broken.weft",
        std::string(
            "train encoder --task classify --data labelled.tsv --from broken.weft --out n.weft"),
        std::string("train gpt --text text.txt --from broken.weft --out n.weft"),
        std::string("train seq2seq --pairs pairs.tsv --from broken.weft --out n.weft"),
        std::string("train gpt --text text.txt --resume broken.weft"),
        std::string("train encoder --data labelled.tsv --resume broken.weft"),
        std::string("generate gpt.weft --prompts empty.txt"),
        std::string("train gpt --text empty.txt --out new.weft"),
        std::string("tokenizer train empty.txt --out new.json"),
        std::string("train encoder --task mlm --text empty.txt --out new.weft"),
        std::string("train seq2seq --task span-corruption --text empty.txt --out new.weft"),
        std::string("train seq2seq --pairs empty.txt --out new.weft"),
        std::string("train seq2seq --pairs one.tsv --out new.weft"),
        std::string("train encoder --task mlm+nsp --text words.txt --vocab 36 --out new.weft"),
        std::string("evaluate broken.weft --text text.txt"), std::string("inspect text.txt"),
        std::string("quantize text.txt --out new.weft"), std::string("classify gpt.weft text"),
        std::string("translate gpt.weft text")}) {
    BOOST_TEST_CONTEXT(arguments) BOOST_TEST(weft(arguments).code == 1);
    weft.check_rejected(arguments);
  }
  for (const char* name : {"broken.weft", "empty.txt", "words.txt", "one.tsv"})
    fs::remove(weft.path(name));
}

BOOST_AUTO_TEST_CASE(options_without_effect_are_rejected) {
  const CommandFiles& weft = files();
  weft.run("tokenizer train text.txt --vocab 300 --out tok.json");
  weft.write("texts.jsonl", "{\"text\": \"some words\"}\n");
  weft.run(
      "train seq2seq --steps 2 --pairs pairs.tsv --vocab 60 --encoder-layers 1 "
      "--decoder-layers 1 --width 16 --encoder-heads 2 --decoder-heads 2 --encoder-inner 32 "
      "--decoder-inner 32 --batch 128 --warmup 1 --threads 2 --out pairs.weft");
  const auto check_usage_error = [&](const std::string& arguments, const std::string& part) {
    weft.check_rejected(arguments, part);
    BOOST_TEST_CONTEXT(arguments) BOOST_TEST(weft(arguments).code == 2);
  };
  check_usage_error(weft.base("run") + " --outputs o.safetensors --program p",
                    "--program is for .weft");
  check_usage_error(
      "run gpt.weft --inputs inputs.safetensors --outputs o.safetensors --architecture A",
      "--architecture is for folders");
  check_usage_error("embed folder film --json --top 3", "--top needs --similar");
  check_usage_error("embed folder --json --similar -", "stdin is already read for --similar");
  check_usage_error("tag folder film --spans --json", "--json already prints the spans");
  check_usage_error("translate pairs.weft 'the ships' --length-penalty 2",
                    "length_penalty applies only to beam search");
  check_usage_error("data tokenize --tokenizer tok.json --out set --field body text.txt",
                    "--field applies to");
  check_usage_error("data tokenize --tokenizer tok.json --out set --documents line texts.jsonl",
                    "--documents applies to texts");
  check_usage_error("tokenizer train texts.jsonl --documents line --out t.json",
                    "--documents applies to texts");
  for (const auto& entry : fs::directory_iterator(weft.path())) {
    if (entry.path().filename().string().starts_with("pairs.") &&
        entry.path().filename() != "pairs.tsv")
      fs::remove(entry.path());
  }
  for (const char* name : {"tok.json", "texts.jsonl"}) fs::remove(weft.path(name));
}

BOOST_AUTO_TEST_CASE(every_command_that_reads_a_model_detects_damage) {
  const CommandFiles& weft = files();
  // Change one byte of the tokenizer in a model file.
  weft.run(
      "train gpt --tokenizer bpe --vocab 60 --text text.txt --steps 2 --layers 1 --heads 2 "
      "--width 16 --context 16 --batch 4 --warmup 1 --threads 2 --out bpe.weft");
  std::string bytes = weft.read("bpe.weft");
  const std::size_t at = bytes.find("boy");
  BOOST_REQUIRE(at != std::string::npos);
  bytes[at] = 'c';
  weft.write("bpe.weft", bytes);
  for (const char* command :
       {"tokenizer encode bpe.weft boy", "tokenizer inspect bpe.weft",
        "data tokenize --tokenizer bpe.weft --out set text.txt",
        "train gpt --tokenizer bpe.weft --text text.txt --steps 2 --out new.weft"})
    weft.check_rejected(command, "a DATA record is damaged");
  // Set one weight in a model folder to NaN.
  Safetensors weights = read_safetensors(weft.path("folder/model.safetensors"));
  Tensor& first = weights.tensors.begin()->second;
  first = first.clone();
  first.mutable_data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  fs::create_directory(weft.path("nan"));
  write_safetensors(weft.path("nan/model.safetensors"), weights.tensors, weights.metadata);
  fs::copy_file(weft.path("folder/config.json"), weft.path("nan/config.json"));
  weft.check_rejected("verify nan", "' is nan at [");
  // These weights are finite, but the results are not.
  weights = read_safetensors(weft.path("folder/model.safetensors"));
  for (auto& [name, tensor] : weights.tensors) {
    tensor = tensor.clone();
    for (float& x :
         std::span(tensor.mutable_data<float>(), static_cast<std::size_t>(tensor.numel())))
      x *= 1e30F;
  }
  write_safetensors(weft.path("nan/model.safetensors"), weights.tensors, weights.metadata);
  fs::copy_file(weft.path("folder/vocab.txt"), weft.path("nan/vocab.txt"));
  weft.check_rejected("embed nan film --json", "are not finite: the weights are damaged");
  weft.check_rejected("embed nan film --out v.npy", "are not finite: the weights are damaged");
  fs::remove_all(weft.path("nan"));
  for (const char* name : {"bpe.weft", "bpe.svg"}) fs::remove(weft.path(name));
}

BOOST_AUTO_TEST_CASE(ignored_columns_are_reported) {
  const CommandFiles& weft = files();
  weft.write("more.tsv", weft.read("pairs.tsv") + "a ship\tship a\tCC-BY\n");
  std::string arguments = weft.base("train seq2seq") + " --out more.weft";
  arguments.replace(arguments.find("pairs.tsv"), 9, "more.tsv");
  const Outcome outcome = weft(arguments);
  BOOST_TEST(outcome.code == 0);
  BOOST_TEST(contains(outcome.out, "columns   1 lines in more.tsv have more than two"));
  for (const auto& entry : fs::directory_iterator(weft.path())) {
    if (entry.path().filename().string().starts_with("more.")) fs::remove(entry.path());
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::program
