// The command-line interface of `weft`: exit codes, one-line error messages, files.
#include <signal.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>

#include "weft/serialization/checkpoint.h"
#include "weft/serialization/files/read_file.h"
#include "weft/tests/support/program_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(program)
namespace {

const std::string kTiny =
    " --layers 1 --heads 2 --width 16 --context 16 --batch 4 --warmup 2 --eval-every 5 --threads 2";

BOOST_AUTO_TEST_CASE(usage_errors_exit_with_2_and_print_one_line) {
  const Shell weft;
  const std::string text = " --text " + weft.path("text.txt"),
                    out = " --out " + weft.path("m.weft");
  check_error(weft(""), 2, "weft needs a command: train, classify, ");
  check_error(weft("trian gpt"), 2, "unknown command 'trian' (did you mean 'train'?); available: ");
  check_error(weft("train"), 2, "weft train needs a command: encoder, gpt, ");
  check_error(weft("train gtp"), 2, "unknown command 'gtp' (did you mean 'gpt'?)");
  check_error(weft("train gpt --heads 2 --heads 4" + text + out), 2,
              "--heads is given more than once");
  check_error(weft("train gpt" + text + out + " --steps"), 2, "--steps needs a value");
  check_error(weft("verify a.weft --jsn"), 2, "weft verify has no option --jsn");
  check_error(weft("train gpt --stpes=5"), 2,
              "weft train gpt has no option --stpes (did you mean '--steps'?) (see weft train gpt");
  check_error(weft("inspect a.weft b.weft"), 2, "weft inspect: unexpected argument 'b.weft'");
  check_error(weft("trian"), 2, "weft --help");
  check_error(weft("train gpt" + out), 2, "--text is required");
  check_error(weft("train gpt" + text), 2, "--out is required");
  check_error(weft("train gpt" + text + out + " --width many"), 2, "--width");
  check_error(weft("train gpt" + text + out + " --preset huge"), 2, "unknown preset 'huge'");
  check_error(weft("train gpt" + text + out + " --width 30 --heads 4"), 2,
              "width 30 is not a multiple of heads 4");
  check_error(weft("train gpt" + text + out + " --activation softsign"), 2,
              "unknown activation 'softsign'");
  check_error(weft("train gpt" + text + out + " --seed -1"), 2, "--seed must be an integer");
  check_error(weft("train gpt" + text + " --resume x.weft --lr 1"), 2,
              "--lr cannot be given with --resume");
  check_error(weft("train gpt" + text + " --resume x.weft --width 8"), 2,
              "--width cannot be given with --resume");
  check_error(weft("generate x.weft --temperature 0"), 2, "temperature must be positive, not 0");
  check_error(weft("generate x.weft --top-p 2"), 2, "top_p must be in (0, 1], not 2");
  check_error(weft("generate"), 2, "file is required");
}

BOOST_AUTO_TEST_CASE(failed_runs_exit_with_1_and_print_one_line) {
  const Shell weft;
  check_error(weft("train gpt --text /nowhere.txt --out " + weft.path("m.weft")), 1,
              "cannot read /nowhere.txt: No such file or directory");
  check_error(weft("generate " + weft.path("none.weft") + " --prompt a"), 1, "none.weft");
  check_error(weft("inspect " + weft.path("text.txt")), 1, "text.txt");
  check_error(weft("train gpt --text " + weft.path("text.txt") +
                   " --out /nowhere/m.weft --steps 3" + kTiny),
              1, "/nowhere");
  std::ofstream(weft.path("short.txt")) << "abc";
  check_error(
      weft("train gpt --text " + weft.path("short.txt") + " --out " + weft.path("m.weft") + kTiny),
      1, "the training set has 2 tokens, but a window of 16 needs 17");
}

BOOST_AUTO_TEST_CASE(help_and_version_succeed) {
  const Shell weft;
  const Outcome help = weft("train gpt --help");
  BOOST_TEST(help.code == 0);
  for (const char* option : {"--text", "--preset", "--layer-norm-eps", "--tied-head", "--min-lr",
                             "--stop-after", "--memory-budget", "--best", "--patience"})
    BOOST_TEST(contains(help.out, option));
  BOOST_TEST(contains(weft("--version").out, "weft "));
}

BOOST_AUTO_TEST_CASE(language_models_are_trained_resumed_used_and_inspected) {
  const Shell weft;
  const std::string text = " --text " + weft.path("text.txt");
  const std::string model = weft.path("m.weft"), other = weft.path("other.weft");
  const Outcome trained = weft("train gpt --steps 10" + text + " --out " + model + kTiny);
  BOOST_TEST(trained.code == 0);
  BOOST_TEST(trained.err == "");
  BOOST_TEST(contains(trained.out, "step 10/10"));
  BOOST_TEST(contains(trained.out, "FLOP per step"));
  BOOST_TEST(last_line(trained.out).starts_with("validation loss "));
  BOOST_TEST(last_line(trained.out).size() == std::string("validation loss 1.2345").size());
  BOOST_TEST(contains(read_whole_file(weft.path("m.svg")), "<svg"));

  // A run that is stopped and resumed in another process gives the same result.
  const Outcome stopped =
      weft("train gpt --steps 10 --stop-after 4" + text + " --out " + other + kTiny);
  BOOST_TEST(stopped.code == 0);
  BOOST_TEST(
      contains(last_line(stopped.out), "at step 4 of 10; continue with: weft train gpt --text"));
  const Outcome resumed = weft("train gpt --threads 1 --resume " + other + text);
  BOOST_TEST(resumed.code == 0);
  BOOST_TEST(last_line(resumed.out) == last_line(trained.out));
  const std::string prompt =
      " --prompt 'all work' --tokens 40 --seed 5 --temperature 0.7 --top-k 5 --top-p 0.9";
  const Outcome a = weft("generate " + model + prompt), b = weft("generate " + other + prompt);
  BOOST_TEST(a.code == 0);
  BOOST_TEST(a.out.starts_with("all work"));
  BOOST_TEST(a.out.size() == 8U + 40U + 1U);
  BOOST_TEST(a.out == b.out);
  BOOST_TEST(weft("generate " + model + " --greedy --tokens 5").code == 0);
  const Outcome both = weft("generate " + model + " --greedy --tokens 9 --prompt 'all ' --prompt " +
                            "'and no play'");
  BOOST_TEST(both.code == 0);
  BOOST_TEST(both.out.starts_with("all "));
  const Outcome alone = weft("generate " + model + " --greedy --tokens 9 --prompt 'and no play'");
  BOOST_TEST(both.out.ends_with("---\n" + alone.out));
  BOOST_TEST(weft("generate " + model + " --beams 3 --tokens 9 --ids").code == 0);
  const Outcome ended = weft("generate " + model + " --tokens 400 --prompt 'all ' --stop ' '");
  BOOST_TEST(std::count(ended.out.begin(), ended.out.end(), ' ') == 2);
  check_error(weft("generate " + model + " --stop ''"), 2, "--stop is empty");
  const Outcome scored = weft("score " + model + " --prompt 'all wo' --continuation rk");
  BOOST_TEST(scored.code == 0);
  BOOST_TEST(contains(scored.out, "of 2 ids, perplexity "));
  // Both ids are single-byte characters, so the bits per byte are half of the total in bits.
  const auto number_after = [&](const std::string& words) {
    return std::strtod(scored.out.c_str() + scored.out.find(words) + words.size(), nullptr);
  };
  BOOST_TEST(number_after("bits_per_byte ") == -number_after("total ") / (2 * std::numbers::ln2),
             boost::test_tools::tolerance(1e-4));
  check_error(weft("generate " + model + " --prompt 'all Work'"), 1,
              "character 'W' (U+0057) at position 4 is not in the vocabulary");
  // A finished run can be resumed with more steps than originally planned.
  const Outcome more =
      weft("train gpt --steps 12 --resume " + other + text + " --out " + weft.path("more.weft"));
  BOOST_TEST(more.code == 0);
  BOOST_TEST(contains(more.out, "step 12/12"));

  const Outcome summary = weft("inspect " + model);
  BOOST_TEST(summary.code == 0);
  BOOST_TEST(contains(summary.out, "programs   train, evaluate, decode"));
  BOOST_TEST(
      contains(weft("inspect " + model + " --programs").out, "output  gradient_norm: f64[]"));
  BOOST_TEST(contains(weft("inspect " + model + " --variables").out,
                      "transformer.wte.weight = lm_head.weight"));
  BOOST_TEST(contains(weft("inspect " + model + " --graph").out, "input %tokens: i32[batch, seq]"));
}

BOOST_AUTO_TEST_CASE(language_models_are_quantised_evaluated_and_used) {
  const Shell weft;
  const std::string text = " --text " + weft.path("text.txt"), model = weft.path("m.weft");
  BOOST_TEST(weft("train gpt --steps 30 --out " + model + text + kTiny).code == 0);
  const Outcome before = weft("evaluate " + model + text);
  BOOST_TEST(before.code == 0);
  BOOST_TEST(before.out.starts_with("bits_per_byte "));
  BOOST_TEST(last_line(before.out).starts_with("validation loss "));
  for (const std::string weights : {"bf16", "int8", "q8_0", "int4"}) {
    BOOST_TEST_CONTEXT(weights) {
      const std::string small = weft.path(weights + ".weft");
      const Outcome made =
          weft("quantize " + model + " --out " + small + " --weights " + weights + text);
      BOOST_TEST(made.err == "");
      BOOST_TEST(made.code == 0);
      BOOST_TEST(contains(made.out, " as " + weights));
      BOOST_TEST(last_line(made.out).starts_with("perplexity "));
      BOOST_TEST(std::filesystem::file_size(small) < std::filesystem::file_size(model));
      // Evaluating the file in another process gives the same loss.
      const Outcome after = weft("evaluate " + small + text + " --threads 1");
      const std::string measured = last_line(after.out),
                        loss = measured.substr(0, measured.find(','));
      BOOST_TEST(contains(made.out, "-> " + loss.substr(loss.rfind(' ') + 1)));
      BOOST_TEST(weft("generate " + small + " --prompt 'all work' --tokens 20").code == 0);
      BOOST_TEST(contains(weft("inspect " + small).out, "programs   evaluate, decode"));
      check_error(weft("train gpt --resume " + small + text), 2,
                  "cannot be trained: its weights were quantised");
    }
  }
  const Outcome some = weft("quantize " + model + " --out " + weft.path("some.weft") +
                            " --only 'transformer.h.*.mlp.*'");
  BOOST_TEST(contains(some.out, "matrices  2 as int8"));
  const std::string narrow = weft.path("narrow.weft");
  BOOST_TEST(contains(weft("quantize " + model + " --out " + narrow + " --caches bf16").out,
                      "caches    2 key/value caches as bf16"));
  BOOST_TEST(contains(weft("inspect " + narrow + " --variables").out, "bf16["));
  BOOST_TEST(weft("generate " + narrow + " --prompt 'all work' --tokens 20").code == 0);
  check_error(weft("quantize " + model + " --out " + weft.path("x.weft") + " --caches f16"), 2,
              "--caches");
  check_error(weft("quantize " + model + " --out " + weft.path("x.weft") + " --only nothing"), 1,
              "pattern 'nothing' matches no matrix that can be converted");
  check_error(weft("quantize " + model + " --out " + weft.path("x.weft") + " --weights int2"), 2,
              "--weights");
  check_error(weft("quantize " + model), 2, "--out is required");
}

BOOST_AUTO_TEST_CASE(a_trainable_model_can_be_converted_for_inference) {
  const Shell weft;
  const std::string text = " --text " + weft.path("text.txt"), model = weft.path("m.weft");
  const std::string small = weft.path("small.weft"), averages = weft.path("m.ema.weft");
  BOOST_TEST(weft("train gpt --steps 10 --ema 0.8 --out " + model + text + kTiny).code == 0);
  const Outcome made = weft("convert " + model + " --out " + small + " --inference");
  BOOST_TEST(made.err == "");
  BOOST_TEST(made.code == 0);
  BOOST_TEST(contains(made.out, "small.weft: a language model of "));
  BOOST_TEST(contains(made.out, "weights   the averages of the training run (--ema)"));
  BOOST_TEST(contains(made.out, "(without training state)"));
  BOOST_TEST(std::filesystem::file_size(small) < std::filesystem::file_size(model) / 2);
  const Outcome measured = weft("evaluate " + small + text);
  BOOST_TEST(measured.code == 0);
  BOOST_TEST(measured.out == weft("evaluate " + averages + text).out);
  BOOST_TEST(contains(weft("inspect " + small).out, "programs   evaluate, decode"));
  const std::string variables = weft("inspect " + small + " --variables").out;
  BOOST_TEST(contains(variables, "transformer.wte.weight"));
  BOOST_TEST(!contains(variables, "optimizer."));
  BOOST_TEST(!contains(variables, "ema."));
  check_error(weft("train gpt --resume " + small + text), 2,
              "cannot be trained: it was converted for inference");
  check_error(weft("convert " + small + " --out " + model + " --inference"), 1,
              "is a trainable model and would be replaced by one that cannot");
  BOOST_TEST(weft("convert " + small + " --out " + model + " --inference --force").code == 0);
  check_error(weft("convert " + weft.path("") + " --out " + small + " --inference"), 2,
              "--inference is for .weft files");
}

BOOST_AUTO_TEST_CASE(a_memory_budget_does_not_change_results) {
  const Shell weft;
  const std::string command = "train gpt --steps 6 --text " + weft.path("text.txt") + " --out " +
                              weft.path("m.weft") +
                              " --layers 4 --heads 2 --width 16 --context 16 --batch 4 --warmup 2 "
                              "--eval-every 5 --threads 2";
  const Outcome free = weft(command);
  BOOST_TEST(!contains(free.out, "recomputed"));
  const Outcome none = weft(command + " --memory-budget 1KiB");
  check_error(none, 2, "memory_budget of 1024 bytes (1.0 KiB) is too small for program 'train'");
  const std::string words = "and at least ";
  const std::string least = none.err.substr(none.err.find(words) + words.size());
  const Outcome tight = weft(command + " --memory-budget " + least.substr(0, least.find(' ')));
  BOOST_TEST(tight.code == 0);
  BOOST_TEST(contains(tight.out, "of intermediate results are recomputed"));
  BOOST_TEST(last_line(tight.out) == last_line(free.out));
  BOOST_TEST(last_line(tight.out).starts_with("validation loss "));
  check_error(weft(command + " --memory-budget much"), 2, "--memory-budget");
}

BOOST_AUTO_TEST_CASE(adapters_are_trained_saved_separately_and_merged) {
  const Shell weft;
  const std::string text = " --text " + weft.path("text.txt"), base = weft.path("base.weft"),
                    tuned = weft.path("tuned.weft"), merged = weft.path("merged.weft");
  const std::string adapters = weft.path("tuned.lora.safetensors");
  BOOST_TEST(weft("train gpt --steps 10" + text + " --out " + base + kTiny).code == 0);
  const std::string train = "train gpt --from " + base + text + " --out " + tuned +
                            " --steps 10 --batch 4 --eval-every 5 --threads 2";
  const Outcome lora =
      weft(train + " --lora-rank 2 --lora-only '*attn*' --lora-dropout 0.1 --best " +
           weft.path("best.weft"));
  BOOST_TEST(lora.code == 0);
  BOOST_TEST(lora.err == "");
  BOOST_TEST(contains(lora.out, "adapters  rank 2, alpha 16: "));
  BOOST_TEST(contains(lora.out, "adapters  " + adapters + "; weft merge"));
  const std::string loss = last_line(lora.out);
  BOOST_TEST(loss.starts_with("validation loss "));
  BOOST_TEST(std::filesystem::exists(weft.path("best.lora.safetensors")));

  // A run that is stopped and resumed matches an uninterrupted run bit-exactly.
  BOOST_TEST(weft(train + " --lora-rank 2 --lora-only '*attn*' --lora-dropout 0.1 "
                          "--stop-after 4")
                 .code == 0);
  const Outcome resumed = weft("train gpt --resume " + tuned + text);
  BOOST_TEST(last_line(resumed.out) == loss);
  BOOST_TEST(contains(weft("inspect " + tuned + " --variables").out, ".lora_b"));

  const Outcome merge = weft("merge " + base + " --adapters " + adapters + " --out " + merged);
  BOOST_TEST(merge.code == 0);
  BOOST_TEST(contains(merge.out, "matrices, scale 8: " + merged));
  const std::string evaluate = weft("evaluate " + merged + text).out;
  BOOST_TEST(
      contains(evaluate, loss.substr(0, loss.size() - 1)));  // the order of summation differs

  const Outcome whole = weft(train);  // fine-tunes all weights instead of adapters
  BOOST_TEST(whole.code == 0);
  BOOST_TEST(!contains(whole.out, "adapters"));

  const Outcome part = weft(train + " --freeze '*.wte.*' '*.h.0.*' --layer-lr-decay 0.5");
  BOOST_TEST(part.code == 0, part.err);
  const auto weight = [&](const std::string& file, const std::string& name) {
    return load_checkpoint(file).store()->tensor(name);
  };
  const std::string first = "transformer.h.0.attn.c_attn.weight", norm = "transformer.ln_f.weight";
  BOOST_TEST(bitwise_equal(weight(base, first), weight(tuned, first)));
  BOOST_TEST(!bitwise_equal(weight(base, norm), weight(tuned, norm)));
  check_error(weft("train gpt --resume " + tuned + text + " --freeze '*.wpe.*'"), 2,
              "--freeze cannot be given with --resume");
  check_error(weft(train + " --freeze 'decoder.*'"), 2, "decoder.*");
  check_error(weft(train + " --lora-only 'x*'"), 2, "--lora-only requires --lora-rank");
  check_error(weft(train + " --schedule constant --min-lr 0.0001"), 2,
              "--min-lr is the final learning rate of a cosine or linear schedule; the schedule is "
              "constant");
  check_error(weft("train gpt --lora-rank 2" + text + " --out " + tuned), 2,
              "--lora-rank needs --from");
  check_error(weft(train + " --resume " + tuned), 2, "give only one of them");
  check_error(
      weft(train + " --width 8"), 2,
      "mismatched: 'transformer.wte.weight' is f32[26, 16], but the variable is f32[26, 8]");
  check_error(weft(train + " --lora-rank 2 --lora-only nothing"), 2,
              "pattern 'nothing' matches no matrix that can have adapters; the candidates are: ");
  BOOST_TEST(weft(train + " --lora-rank 2 --stop-after 1").code == 0);
  check_error(weft("train gpt --from " + tuned + text + " --out x.weft"), 2,
              "has adapters: merge them into its weights first");
  check_error(weft("merge " + base + " --adapters " + base + " --out " + merged), 1, "base.weft");
  check_error(weft("merge " + base + " --adapters /nowhere --out " + merged), 1, "/nowhere");
}

// Runs `weft` with `arguments`, writing its output to `out`. Sends SIGINT once "step 2/" has been
// printed, and returns the exit code.
int interrupt(const std::string& arguments, const std::string& out) {
  const std::string command = "exec " + std::string(WEFT_PROGRAM) + " " + arguments + " >" + out;
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  bool sent = false;
  for (int i = 0; i < 6000; ++i) {  // wait for at most one minute
    if (waitpid(child, &status, WNOHANG) == child)
      return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (!sent && std::filesystem::exists(out) && contains(read_whole_file(out), "step 2/")) {
      kill(child, SIGINT);
      sent = true;
    }
    usleep(10000);
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return -1;
}

BOOST_AUTO_TEST_CASE(an_interrupt_saves_the_model_and_prints_the_resume_command) {
  const Shell weft;
  const std::string text = " --text " + weft.path("text.txt"), model = weft.path("m.weft");
  // In a run of 40 steps, every second step prints a line. The signal arrives long before the last
  // step.
  const int code = interrupt(
      "train gpt --steps 40 --save-every 0 --layers 2 --heads 2 --width 128 "
      "--context 64 --batch 16 --threads 2" +
          text + " --out " + model,
      weft.path("log"));
  BOOST_TEST(code == 0);
  const std::string log = read_whole_file(weft.path("log"));
  BOOST_TEST(contains(last_line(log), "of 40; continue with: weft train gpt --text"));
  BOOST_TEST(contains(last_line(log), "--resume " + model));
  BOOST_TEST(weft("inspect " + model).code == 0);
}

BOOST_AUTO_TEST_CASE(models_are_inspected_without_allocating_weights) {
  const Shell weft;
  const auto says = [&](const std::string& arguments, const std::vector<std::string>& parts) {
    const Outcome outcome = weft(arguments);
    BOOST_TEST_CONTEXT(arguments << "\n" << outcome.out << outcome.err) {
      BOOST_TEST(outcome.code == 0);
      for (const std::string& part : parts) BOOST_TEST(contains(outcome.out, part), part);
    }
  };
  says("inspect --model gpt2 --batch 4 --seq 256",
       {"parameters         124,439,808 (474.7 MiB in float32)",
        "12 d^2 = 7.08M in each of 12 layers of width d = 768", "forward pass of 4 x 256",
        "training step with AdamW"});
  // 175 billion parameters would not fit in the memory of a typical development machine.
  says("inspect --model gpt3-175b --seq 2048", {"174,604,259,328"});
  says("inspect --model qwen3-30b-a3b --seq 16",
       {"parameters         30,532,122,624",
        "active           3,353,032,704 per token, with the chosen experts only"});
  // A reduce-scatter and an all-gather of 497.8 MB on 4 ranks: each rank sends 2 * 3/4 of that
  // size.
  says("inspect --model gpt2 --seq 1024 --ranks 4",
       {"training step of 4 shards on 4 ranks", "sent per rank    712.1 MiB", "optimizer 237.4 MiB",
        "with a budget    gradient sums 244.7 MiB, kept only by their owners; 712.1 MiB"});
  check_error(weft("inspect --model gpt2 --ranks 8 --shards 4"), 2,
              "8 ranks are too many for 4 shards");
  // On 2 ranks, each rank sends 2 * 1/2 of the 86.6 million parameters.
  says("inspect --model vit-b16 --ranks 2",
       {"training step with AdamW", "sent per rank    330.2 MiB"});
  // For training, BERT uses the class with a masked-language-model head.
  says("inspect --model bert-base --ranks 2",
       {"training step as BertForMaskedLM with AdamW", "training step of 2 shards on 2 ranks"});
  check_error(weft("inspect --model gpt5"), 2,
              "unknown model 'gpt5' (did you mean 'gpt2'?); available: gpt2");
  check_error(weft("inspect"), 2, "inspect needs a file, or --model");
}

BOOST_AUTO_TEST_CASE(benchmarks_print_their_results) {
  const Shell weft;
  const auto figures = [&](const std::string& arguments) {
    const Outcome o = weft("bench " + arguments + " --json --threads 2 --runs 2");
    BOOST_TEST_CONTEXT(o.err) BOOST_TEST_REQUIRE(o.code == 0);
    return nlohmann::json::parse(o.out);
  };
  for (const std::string kind : {"train", "forward"}) {
    const auto f = figures(kind + " --model char-small --batch 2 --seq 16 --precision high");
    BOOST_TEST(f["benchmark"].get<std::string>() == kind);
    BOOST_TEST(f["precision"].get<std::string>() == "high");
    BOOST_TEST(f["threads"].get<int>() == 2);
    for (const char* name :
         {"seconds_per_step", "tokens_per_second", "peak_rss_bytes", "planned_bytes", "flops",
          "fraction_of_peak", "build_seconds", "plan_seconds", "first_step_seconds"}) {
      BOOST_TEST_CONTEXT(name) BOOST_TEST(f[name].get<double>() > 0);
    }
  }
  const std::string step = "train --model char-small --batch 2 --seq 16";
  const auto free = figures(step);
  const auto tight = figures(step + " --memory-budget " +
                             std::to_string(free["arena_bytes"].get<std::size_t>() * 19 / 20));
  BOOST_TEST(tight["arena_bytes"].get<double>() <= 0.95 * free["arena_bytes"].get<double>());
  BOOST_TEST(tight["recomputed_bytes"].get<double>() > 0);
  BOOST_TEST(tight["flops"].get<double>() == free["flops"].get<double>());
  const auto d = figures("decode --model char-small --context 4");
  BOOST_TEST(d["seconds_per_token"].get<double>() > 0);
  BOOST_TEST(d["floor_fraction"].get<double>() > 0);
  BOOST_TEST(d["caches"].get<std::string>() == "f32");
  BOOST_TEST(!d["batch_invariant"].get<bool>());
  const std::string decode = "decode --model char-small --context 4 --batch-invariant";
  for (const std::string caches : {"bf16", "int8"}) {
    const auto narrow = figures(decode + " --caches " + caches);
    BOOST_TEST(narrow["caches"].get<std::string>() == caches);
    BOOST_TEST(narrow["batch_invariant"].get<bool>());
    BOOST_TEST(narrow["seconds_per_token"].get<double>() > 0);
  }
  BOOST_TEST(figures(decode + " --weights int4")["caches"].get<std::string>() == "bf16");
  const auto g = figures("gemm --m 32 --n 48 --k 16");
  BOOST_TEST_REQUIRE(g["shapes"].size() == 1U);
  BOOST_TEST(g["shapes"][0]["n"].get<int>() == 48);
  for (const char* name : {"gflops", "fraction_of_peak", "single_thread_seconds",
                           "single_thread_fraction_of_peak", "scaling"}) {
    BOOST_TEST_CONTEXT(name) BOOST_TEST(g["shapes"][0][name].get<double>() > 0);
  }
  const Outcome one = weft("bench gemm --m 32 --n 48 --k 16 --runs 1 --threads 1");
  BOOST_TEST(!contains(one.out, "scaling"));
  BOOST_TEST(contains(weft("bench gemm --m 32 --n 48 --k 16 --runs 1 --threads 2").out,
                      "of peak  1 thread: of peak  scaling"));
  const auto i = figures("integer --m 5 --n 20 --k 33 --weights q8_0");
  BOOST_TEST(i["weights"].get<std::string>() == "q8_0");
  BOOST_TEST_REQUIRE(i["shapes"].size() == 1U);
  BOOST_TEST(i["shapes"][0]["fraction_of_peak"].get<double>() > 0);
  const auto q =
      figures("forward --model char-small --batch 2 --seq 16 --weights int8 --activations int8");
  BOOST_TEST(q["weights"].get<std::string>() == "int8");
  BOOST_TEST(q["activations"].get<std::string>() == "int8");
  BOOST_TEST(q["seconds_per_step"].get<double>() > 0);
  BOOST_TEST(
      figures("forward --model char-small --batch 2 --seq 16 --batch-invariant")["batch_invariant"]
          .get<bool>());
  BOOST_TEST(contains(weft("bench train --model char-small --batch 2 --seq 16 --runs 1").out,
                      "seconds_per_step"));

  const Outcome attention = weft("bench attention --seq 64 --heads 2 --size 16 --runs 1 --json");
  BOOST_TEST(attention.code == 0);
  BOOST_TEST(nlohmann::json::parse(attention.out)["planned_bytes"].get<double>() > 0);
  check_error(weft("bench attention --seq 0"), 2, "--seq");
  for (const auto& [caches, bytes] : {std::pair("f32", 16384), {"bf16", 8192}, {"int8", 5120}}) {
    const Outcome cached =
        weft(std::string("bench attention --seq 64 --heads 2 --size 16 --runs 1") +
             " --json --caches " + caches);
    BOOST_TEST(cached.code == 0, cached.err);
    BOOST_TEST(contains(cached.out, std::string("\"caches\":\"") + caches), cached.out);
    BOOST_TEST(contains(cached.out, "\"cache_bytes\":" + std::to_string(bytes)), cached.out);
  }
  check_error(weft("bench train --model gpt9"), 2,
              "unknown model 'gpt9' (did you mean 'gpt2'?); available: char-small");
  check_error(weft("bench forward --model char-small --seq 65"), 2,
              "char-small has 64 positions, which is fewer than --seq 65");
  check_error(weft("bench forward --model gpt9"), 2,
              "unknown model 'gpt9' (did you mean 'gpt2'?); available: gpt2, gpt2-");
  check_error(weft("bench forward --model vit-b16 --seq 9"), 2,
              "vit-b16 reads images of 224 x 224: --seq does not apply");
  check_error(weft("inspect --model vit-b16 --seq 9"), 2, "--seq does not apply");
  check_error(weft("bench gemm --m 3"), 2, "--m, --n and --k must be given together");
  check_error(weft("bench integer --k 3"), 2, "--m, --n and --k must be given together");
  check_error(weft("bench integer --weights bf16"), 2, "bf16 is not one of {int8,q8_0,int4}");
  check_error(weft("bench forward --activations int8 --weights bf16"), 2,
              "--activations int8 requires --weights int8, q8_0 or int4");
  check_error(weft("bench train --precision low"), 2, "low is not one of {highest,high,medium}");
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
