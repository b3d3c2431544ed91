// An option that is given either changes the output or is rejected. The list of options is read
// from the parser: a new option of these commands needs a row in the table.
#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

#include "command_files.h"
#include "command_walk.h"

namespace weft::program {
BOOST_AUTO_TEST_SUITE(unused_options)
namespace {

/// How a test shows that an option is not ignored.
struct Row {
  /// A command line that the option changes the output of, and the option with its value.
  std::string base = {}, option = {};
  /// A command line in which the option has no effect, and a part of the error message. Empty if
  /// the option has an effect in every command line that the program accepts.
  std::string unused = {}, message = {};
};

const std::string kWeft = std::string(WEFT_FIXTURES) + "/weft_files/";
const std::string kDecoder = "generate " + kWeft + "gpt.weft --prompt the --tokens 4";
const std::string kBeams = "generate " + kWeft + "gpt.weft --prompt the --tokens 4 --beams 2";
const std::string kGreedy = kDecoder + " --greedy";
const std::string kTranslator = "generate " + kWeft + "translator.weft --prompt the --tokens 4";
const std::string kFolder =
    "generate " + std::string(WEFT_FIXTURES) + "/goldens/gpt2-default --ids --tokens 4";
const std::string kSchema = std::string(WEFT_FIXTURES) + "/color_schema.json";
const std::string kTranslate = "translate " + kWeft + "translator.weft the";

/// Options that choose inputs and outputs or the speed. They cannot be without effect, or do not
/// change results by definition.
const std::set<std::string> kExempt = {
    "file",         "texts",   "inputs",   "--threads",           "--batch",
    "--json",       "--input", "--prompt", "--ignore-config-key", "--prompts",
    "--prompt-ids", "--ids",   "--verify", "--batch-invariant",   "--trace",
    "--trace-steps"};

const std::map<std::string, std::map<std::string, Row>>& table() {
  static const std::map<std::string, std::map<std::string, Row>> rows = {
      {"generate",
       {
           {"--task", {"", "", kDecoder + " --task translation", "task"}},
           {"--truncate", {"", "", kDecoder + " --truncate", "--truncate has no effect"}},
           {"--results", {kDecoder, "--results 2", kGreedy + " --results 2", "results"}},
           {"--tokens",
            {kDecoder + " --max-length 6", "", kDecoder + " --max-length 6", "--tokens"}},
           {"--max-length", {"", "", kDecoder + " --max-length 6", "--max-length"}},
           {"--min-length",
            {kBeams + " --stop-ids 1", "--min-length 6", kDecoder + " --min-length 6",
             "--min-length has no effect: the model has no id that ends a text"}},
           {"--min-tokens",
            {kBeams + " --stop-ids 1", "--min-tokens 3", kDecoder + " --min-tokens 3",
             "--min-tokens has no effect: the model has no id that ends a text"}},
           {"--slide", {"", "", kTranslator + " --slide", "slide"}},
           {"--sample", {"", "", kGreedy + " --sample", "--greedy"}},
           {"--temperature",
            {kDecoder, "--temperature 5", kGreedy + " --temperature 5", "--greedy"}},
           {"--top-k", {kDecoder, "--top-k 1", kBeams + " --top-k 1", "--beams does not sample"}},
           {"--top-p", {kDecoder, "--top-p 0.01", kBeams + " --top-p 0.01", "--beams"}},
           {"--min-p", {kDecoder, "--min-p 1", kGreedy + " --min-p 1", "--greedy"}},
           {"--seed", {kDecoder, "--seed 8", kGreedy + " --seed 8", "--seed is only for sampling"}},
           {"--greedy", {kDecoder, "--greedy", kBeams + " --greedy", "--greedy"}},
           {"--beams", {kDecoder, "--beams 3", kGreedy + " --beams 3", "--greedy"}},
           {"--length-penalty",
            {kBeams + " --stop-ids 1 --json", "--length-penalty 3",
             kDecoder + " --beams 1 --length-penalty 3", "--length-penalty and --early-stopping"}},
           {"--early-stopping",
            {"", "", kDecoder + " --beams 1 --early-stopping true",
             "--length-penalty and --early-stopping"}},
           {"--repetition-penalty", {kGreedy, "--repetition-penalty 50", "", ""}},
           {"--no-repeat-ngram",
            {kGreedy, "--no-repeat-ngram 1", kGreedy + " --no-repeat-ngram 1000",
             "--no-repeat-ngram 1000 has no effect: the prompt has at most 7 ids"}},
           {"--stop", {kGreedy, "--stop ' '", kBeams + " --stop e", "stop"}},
           {"--stop-ids",
            {kGreedy, "--stop-ids 1", kGreedy + " --stop-ids 1 --forbid-ids 1",
             "--stop-ids 1 has no effect: this id is never generated"}},
           {"--stop-sequence",
            {kGreedy, "--stop-sequence 1", kGreedy + " --stop-sequence '1 1 1 1 1'",
             "--stop-sequence \"1 1 1 1 1\" has no effect: at most 4 ids"}},
           {"--forbid-ids", {kGreedy, "--forbid-ids 1", kGreedy + " --forbid-ids 999", "999"}},
           {"--force",
            {kGreedy, "--force 3:5", kGreedy + " --force 0:1",
             "--force 0:1 has no effect: the first 3 positions of the prompt contain the prompt"}},
           {"--json-schema", {"", "", kBeams + " --json-schema " + kSchema, "not supported with"}},
           {"--regex",
            {kGreedy, "--regex ' [aeio]{40}'", kBeams + " --regex a", "not supported with"}},
           {"--choice",
            {kGreedy, "--choice qqq", kGreedy + " --choice a --regex b", "exclude each other"}},
           {"--start-ids",
            {kTranslator, "--start-ids 7", kDecoder + " --start-ids 7", "--start-ids"}},
       }},
      {"translate",
       {
           {"--beams", {kTranslate + " --json", "--beams 2", "", ""}},
           {"--length-penalty",
            {kTranslate + " --json --beams 2", "--length-penalty 3",
             kTranslate + " --length-penalty 3", "length_penalty"}},
           {"--from", {"", "", kTranslate + " --from en", "language"}},
           {"--to", {"", "", kTranslate + " --to en", "language"}},
           {"--prefix", {kTranslate + " --json", "--prefix 'the of and to the of and '", "", ""}},
           {"--truncate", {"", "", kTranslate + " --truncate", "--truncate has no effect"}},
       }},
      {"classify",
       {
           {"--top", {"classify " + kWeft + "classifier.weft the", "--top 1", "", ""}},
           {"--labels",
            {"", "", "classify " + kWeft + "classifier.weft the --labels spam",
             "labels are for models that compare images and texts"}},
           {"--template",
            {"", "", "classify " + kWeft + "classifier.weft the --template 'a {}'", "--labels"}},
           {"--truncate",
            {"", "", "classify " + kWeft + "images.weft --truncate picture.bmp",
             "--truncate is for texts"}},
       }},
  };
  return rows;
}

BOOST_AUTO_TEST_CASE(every_option_changes_the_output_or_is_rejected) {
  const CommandFiles weft;
  weft.write("picture.bmp", "");
  for (const WalkedCommand& command : all_commands()) {
    const auto rows = table().find(command.name);
    if (rows == table().end()) continue;
    for (const WalkedOption& option : command.options) {
      if (kExempt.contains(option.name)) continue;
      BOOST_TEST_CONTEXT(command.name << " " << option.name) {
        const auto found = rows->second.find(option.name);
        BOOST_TEST_REQUIRE((found != rows->second.end()),
                           "add a row for this option: when does it have an effect?");
        const Row& row = found->second;
        if (!row.option.empty()) {
          const Outcome without = weft(row.base), with = weft(row.base + " " + row.option);
          BOOST_TEST(without.code == 0, without.err);
          BOOST_TEST(with.code == 0, with.err);
          BOOST_TEST(with.out != without.out);
        }
        if (!row.unused.empty()) {
          const Outcome outcome = weft(row.unused);
          BOOST_TEST((outcome.code == 1 || outcome.code == 2));
          BOOST_TEST(contains(outcome.err, row.message), outcome.err);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(forced_positions_after_the_end_are_rejected_for_every_prompt) {
  const CommandFiles weft;
  const auto rejected = [&](const std::string& arguments, const std::string& message) {
    const Outcome outcome = weft(arguments);
    BOOST_TEST(outcome.code == 2);
    BOOST_TEST(contains(outcome.err, message), outcome.err);
  };
  rejected(kGreedy + " --force 7:1",
           "--force 7:1 has no effect: the last position of the prompt is 6");
  rejected(kGreedy + " --prompt 'the of' --force 3:1", "of prompt 2 contain the prompt");
  rejected(kTranslator + " --force 0:1", "contain the decoder's first ids");
  rejected(kTranslator + " --force 5:1", "the last position of the prompt is 4");
  rejected(kFolder + " --prompt-ids '1 2 3' --force 2:1", "the first 3 positions");
  rejected(kFolder + " --prompt-ids '1 2 3' --force 7:1", "the last position");
  BOOST_TEST(weft(kFolder + " --prompt-ids '1 2 3' --force 6:1").code == 0);
}

BOOST_AUTO_TEST_CASE(settings_without_effect_on_a_training_run_are_rejected) {
  const CommandFiles weft;
  const std::string train = weft.base("train gpt") + " --out m.weft ";
  for (const auto& [options, message] : std::map<std::string, std::string>{
           {"--eval-every 0 --eval-batches 2",
            "--eval-batches has no effect: there are no periodic"},
           {"--validation-fraction 0 --eval-every 1",
            "--eval-every has no effect: no data is held"},
           {"--validation-fraction 0 --eval-batches 1", "--eval-batches has no effect: no data"},
           {"--save-every 0 --keep 1", "--keep has no effect: the run saves only once"},
           {"--save-every 2 --keep 1", "--keep has no effect: the run saves only once"},
           {"--stop-after 3", "--stop-after has no effect: the run ends after 2 steps"},
           {"--schedule constant --min-lr 1e-9", "--min-lr"},
           {"--optimizer sgd --beta2 0.9", "--beta2 has no effect"},
           {"--lora-alpha 2", "--lora-rank"},
           {"--patience 2 --eval-every 0", "patience"},
           {"--reinit '*'", "--reinit needs --from"}})
    weft.check_rejected(train + options, message);
  // Fields of configs, for all families of models.
  for (const auto& [options, message] : std::map<std::string, std::string>{
           {"--rotary-base 500", "--rotary-base has no effect without --positions rotary"},
           {"--rotary-share 0.5", "--rotary-share has no effect without --positions rotary"},
           {"--positions rotary --rotary-factor 2", "without --rotary-scaling"},
           {"--positions rotary --rotary-scaling linear --rotary-low-factor 2", "scaling llama3"},
           {"--positions rotary --rotary-context 8", "scaling dynamic, llama3, yarn or longrope"},
           {"--positions rotary --rotary-beta-fast 8", "without --rotary-scaling yarn"},
           {"--linear-bias-max 4", "without --positions linear_bias"},
           {"--bias --qkv-bias", "--qkv-bias has no effect without --no-bias"},
           {"--no-qk-norm-bias", "--qk-norm-bias has no effect without --qk-norm"},
           {"--residual post_norm --no-final-norm", "without a --residual other than post_norm"},
           {"--query-growth-context 8", "without --query-growth"},
           {"--experts-per-token 1", "--experts-per-token has no effect without --experts"},
           {"--bias --mlp-bias", "--mlp-bias has no effect without --no-bias"}})
    weft.check_rejected(train + options, message);
  const std::string encoder = weft.base("train encoder") + " --out m.weft ";
  for (const auto& [options, message] : std::map<std::string, std::string>{
           {"--max-relative 8", "--max-relative has no effect without --positions disentangled"},
           {"--conv-kernel 0 --conv-groups 2", "--conv-groups has no effect without --conv-kernel"},
           {"--group-layers 1", "--group-layers has no effect without --layer-groups"},
           {"--embedding-projection before_norm", "--embedding-width"},
           {"--positions none --conv-kernel 3 --norm-first --trainable-positions",
            "without learned positions"}})
    weft.check_rejected(encoder + options, message);
  const std::string seq2seq = weft.base("train seq2seq") + " --out m.weft ";
  for (const auto& [options, message] : std::map<std::string, std::string>{
           {"--positions sinusoidal --relative-buckets 8", "without --positions relative_bias"},
           {"--positions sinusoidal --position-offset 2", "without --positions learned"},
           {"--no-tied-head --scale-tied-head", "--scale-tied-head has no effect"}})
    weft.check_rejected(seq2seq + options, message);
  weft.run(train +
           "--positions rotary --rotary-base 500 --rotary-scaling linear --rotary-factor 2");
  weft.run(train + "--stop-after 2 --save-every 1 --keep 1 --eval-every 1 --eval-batches 1");
}

#ifdef WEFT_PROGRAM_HTTP
BOOST_AUTO_TEST_CASE(options_of_a_server_need_a_model_that_they_concern) {
  const CommandFiles weft;
  const std::string translator = "serve " + kWeft + "translator.weft --port 0";
  for (const std::string option : {"--slots 2", "--chunk 8", "--context 8", "--cache-memory 1GiB",
                                   "--speculate 2", "--max-output 5", "--chat-format chatml"}) {
    weft.check_rejected(translator + " " + option, option.substr(0, option.find(' ')) +
                                                       " has no effect: no model continues texts");
  }
  const std::string two = translator + " " + kWeft + "gpt.weft ";
  weft.check_rejected(two + "--adapter a=" + kWeft + "gpt-lora.lora.safetensors",
                      "--adapter with several models needs the name of one: --adapter "
                      "MODEL:NAME=PATH");
  weft.check_rejected(two + "--adapter x:a=none", "--adapter: there is no model 'x'");
  weft.check_rejected(translator + " --adapter none", "--adapter none has no name");
  weft.check_rejected(translator + " --api-key-file " + weft.write("keys", "# none\n\n"),
                      "contains no key: write one per line");
  weft.check_rejected("serve " + kWeft + "gpt.weft --chat-format none",
                      "(and there is no file of that name)");
  weft.check_rejected("serve " + kWeft + "gpt.weft " + kWeft + "gpt.weft --port 0",
                      "two models or adapters have the name 'gpt'");
  weft.check_rejected("serve " + kWeft + "gpt.weft --host 203.0.113.1",
                      "cannot listen at 203.0.113.1:8080: ");
}

BOOST_AUTO_TEST_CASE(a_server_prints_its_address_logs_requests_and_stops_at_sigterm) {
  const CommandFiles weft;
  const std::string script =
      "cd " + weft.path() + "\n" + WEFT_PROGRAM + " serve text=" + kWeft +
      "gpt.weft --adapter pirate=" + kWeft +
      "gpt-lora.lora.safetensors --port 0 --log json >served 2>log & pid=$!\n"
      "for i in $(seq 600); do grep -q listening served && break; sleep 0.05; done\n"
      "port=$(grep -o '127.0.0.1:[0-9]*' served | cut -d: -f2)\n"
      "exec 3<>/dev/tcp/127.0.0.1/$port\n"
      "printf 'GET /v1/models HTTP/1.0\\r\\n\\r\\n' >&3\ncat <&3 >reply\n"
      "kill -TERM $pid; wait $pid\n";
  const Outcome outcome = Shell("bash")(weft.write("serve.sh", script));
  BOOST_TEST(outcome.code == 0, outcome.err);
  BOOST_TEST(contains(weft.read("served"), "text: generate; context 16, 16 slots; weights "));
  BOOST_TEST(contains(weft.read("served"), "; adapters pirate\nlistening at http://127.0.0.1:"));
  BOOST_TEST(contains(weft.read("reply"), R"("id":"pirate")"));
  BOOST_TEST(contains(weft.read("reply"), R"("parent":"text")"));
  BOOST_TEST(contains(weft.read("log"), R"("method":"GET","path":"/v1/models","status":200)"));
}
#endif

BOOST_AUTO_TEST_CASE(no_default_contradicts_an_option) {
  const CommandFiles weft;
  weft.run(with(weft.base("train seq2seq"), "--steps", "1").replace(0, 0, "") +
           " --out s.weft --force");
  std::string seq2seq = with(weft.base("train seq2seq"), "--steps", "1");
  seq2seq.erase(seq2seq.find(" --warmup 1"), std::string(" --warmup 1").size());
  weft.run(seq2seq + " --out s.weft");
  std::string gpt = weft.base("train gpt");
  gpt.erase(gpt.find(" --warmup 1"), std::string(" --warmup 1").size());
  weft.run(gpt + " --out g.weft --lr 1e-7");
  weft.run(with(gpt, "--steps", "1") + " --out g.weft");
  weft.run(gpt + " --out g.weft --schedule inverse_sqrt");
}

BOOST_AUTO_TEST_CASE(length_penalties_are_limited_to_finite_scores) {
  const CommandFiles weft;
  const std::string generate = kBeams + " --results 2 --stop-ids 1 --json --length-penalty ";
  for (const char* value : {"300", "-300", "31"}) {
    const Outcome outcome = weft(generate + value);
    BOOST_TEST(outcome.code == 2);
    BOOST_TEST(contains(outcome.err, "--length-penalty"), outcome.err);
  }
  for (const char* value : {"30", "-30", "8", "0"}) {
    const Outcome outcome = weft(generate + value);
    BOOST_TEST(outcome.code == 0, outcome.err);
    BOOST_TEST(!contains(outcome.out, "\"score\":null"));
    BOOST_TEST(!contains(outcome.out, "\"score\":0.0,"));
    BOOST_TEST(!contains(outcome.out, "\"score\":-0.0,"));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::program
