// Instruction tuning: reading conversations, loss masks, packing, and answers.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>

#include "weft/core/error.h"
#include "weft/models/data/formats/conversations.h"
#include "weft/models/tasks/next_token/chat_session.h"
#include "weft/models/tasks/next_token/instructions.h"
#include "weft/models/tasks/next_token/language_writer.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/text/chat/encode_chat.h"
#include "weft/models/training/trainable.h"
#include "weft/models/training/trainer.h"
#include "weft/models/zoo/data/instruction_set.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/program_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(instruction_tuning)
namespace {

using testing::says;
using testing::TemporaryFolder;
using zoo::conversations;
using zoo::instruction_lines;
using zoo::InstructionLines;
using zoo::InstructionPart;
using zoo::make_instructions;

const ChatFormat& chatml() {
  static const ChatFormat format = ChatFormat::built_in("chatml");
  return format;
}

/// Returns a tokenizer with all characters that occur in ChatML and in the instructions.
Tokenizer letters() {
  std::string all = "\n";
  for (char c = ' '; c <= '~'; ++c) all += c;
  return CharacterTokenizer::from_text(all);
}

GptConfig tiny(const Tokenizer& tokenizer, std::int64_t context) {
  GptConfig config;
  config.vocab = tokenizer.vocab_size();
  config.layers = 2;
  config.heads = 2;
  config.width = 48;
  config.context = context;
  config.initializer_range = 0.1;
  return config;
}

TrainSettings settings(std::int64_t steps) {
  return {.steps = steps,
          .batch = 6,
          .lr = 2e-3,
          .min_lr = 2e-4,
          .warmup = steps / 10,
          .eval_every = 0};
}

std::string counted_text(const Tokenizer& tokenizer, const InstructionExample& example) {
  std::vector<std::int32_t> ids;
  for (const std::int32_t id : example.targets) {
    if (id >= 0) ids.push_back(id);
  }
  return tokenizer.decode(ids);
}

BOOST_AUTO_TEST_CASE(conversations_are_read_from_messages_and_instructions) {
  const TemporaryFolder folder("conversations");
  const std::string path = folder.write(
      "a.jsonl",
      R"({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]})"
      "\n"
      R"({"instruction": "add", "input": "1 2", "output": "3", "id": 7})"
      "\n"
      R"({"instruction": "greet", "system": "be kind", "input": "", "output": "hello"})"
      "\n");
  const std::vector<std::string> paths = {path};
  const std::vector<Conversation> joined = read_conversations(paths);
  BOOST_REQUIRE(joined.size() == 3U);
  BOOST_TEST((joined[0] == Conversation{{"user", "hi"}, {"assistant", "ho"}}));
  BOOST_TEST((joined[1] == Conversation{{"user", "add\n\n1 2"}, {"assistant", "3"}}));
  BOOST_TEST((joined[2] ==
              Conversation{{"system", "be kind"}, {"user", "greet"}, {"assistant", "hello"}}));
  BOOST_TEST((read_conversations(paths, InstructionInput::message)[1] ==
              Conversation{{"user", "add"}, {"input", "1 2"}, {"assistant", "3"}}));
}

BOOST_AUTO_TEST_CASE(errors_for_invalid_conversations_state_file_and_line) {
  const TemporaryFolder folder("conversations");
  const std::string good = R"({"instruction": "a", "output": "b"})";
  const auto fails = [&](const std::string& line, const std::string& what) {
    const std::vector<std::string> paths = {folder.write("bad.jsonl", good + "\n" + line)};
    BOOST_CHECK_EXCEPTION(read_conversations(paths), FormatError, says("bad.jsonl, line 2"));
    BOOST_CHECK_EXCEPTION(read_conversations(paths), FormatError, says(what));
  };
  fails("\n" + good, "the line is empty");
  fails(" \t\r\n\n" + good + "\n", "the line is empty");
  fails("[1]", "");
  fails("{\"instruction\": \"a\"", "");
  fails(R"({"text": "a"})", "neither 'messages' nor 'instruction'");
  fails(R"({"instruction": "a"})", "lacks 'output'");
  fails(R"({"instruction": 3, "output": "b"})", "'instruction' must be a string, not 3");
  fails(R"({"instruction": "a", "output": "b", "output": "c"})", "");
  fails(R"({"messages": [{"role": "user", "content": "a"}]})", "there is no answer");
  fails(R"({"messages": [{"role": "assistant", "content": "a"}]})", "precedes the first answer");
  fails(R"({"messages": [{"role": "user"}]})", "lacks 'content'");
  const std::vector<std::string> empty = {folder.write("empty.jsonl", "")};
  BOOST_CHECK_EXCEPTION(read_conversations(empty), FormatError, says("there is no conversation"));
}

BOOST_AUTO_TEST_CASE(held_out_questions_do_not_occur_in_training) {
  std::vector<Conversation> all;
  for (int i = 0; i < 40; ++i)
    all.push_back({{"user", std::to_string(i % 20)}, {"assistant", std::to_string(i)}});
  const ConversationSplit split = hold_out(all, 0.25, 3);
  BOOST_TEST(split.held_out.size() == 10U);
  BOOST_TEST(split.train.size() == 30U);
  for (const Conversation& held : split.held_out) {
    for (const Conversation& trains : split.train) BOOST_TEST(held[0].content != trains[0].content);
  }
  BOOST_CHECK_THROW(hold_out(all, 1, 3), ArgumentError);
}

BOOST_AUTO_TEST_CASE(only_answers_and_their_end_tokens_have_a_loss) {
  const Conversation turns = {{"system", "be brief"},
                              {"user", "capital?"},
                              {"assistant", "Paris"},
                              {"user", "<|im_end|>"},
                              {"assistant", "what?"}};
  const Tokenizer tokenizer = letters();
  BOOST_TEST(counted_text(tokenizer, make_example(tokenizer, chatml(), turns)) ==
             "Paris<|im_end|>what?<|im_end|>");
  const InstructionExample all = make_example(tokenizer, chatml(), turns, InstructionLoss::all);
  BOOST_TEST(all.counted() == std::ssize(all.inputs));
  BOOST_TEST(answer_end(tokenizer, chatml()).text == "<|im_end|>");
  BOOST_TEST(answer_end(tokenizer, chatml()).id == -1);
  const ChatFormat llama = ChatFormat::built_in("llama-2");
  BOOST_TEST(answer_end(tokenizer, llama).text == "</s>");
  BOOST_TEST((marks_of(chatml()) == std::vector<std::string>{"<|im_start|>", "<|im_end|>"}));
}

BOOST_AUTO_TEST_CASE(a_conversation_has_the_same_loss_packed_or_alone) {
  const Tokenizer tokenizer = letters();
  for (const GptPositions positions :
       {GptPositions::learned, GptPositions::rotary, GptPositions::linear_bias}) {
    std::vector<InstructionExample> examples;
    std::int64_t longest = 0;
    for (const Conversation& turns : conversations(make_instructions({.count = 20, .seed = 5}))) {
      examples.push_back(make_example(tokenizer, chatml(), turns));
      longest = std::max(longest, std::ssize(examples.back().inputs));
    }
    GptConfig config = tiny(tokenizer, 2 * longest);  // every row has room for two examples
    config.positions = positions;
    const LanguageModel model = build_instructed_model(config, tokenizer, chatml(), settings(1));
    Session session(*model.graph, model.store, {.seed = 4, .threads = 2});
    session.initialise();
    const InstructionRows packed(examples, config.context, 1);
    const InstructionRows alone(examples, config.context, 1, false);
    BOOST_TEST(packed.size() <= 10);
    BOOST_TEST(alone.size() == 20);
    BOOST_TEST(packed.counted() == alone.counted());
    const Program& evaluate = model.program("evaluate");
    BOOST_TEST(instruction_loss(session, evaluate, packed, 3) ==
                   instruction_loss(session, evaluate, alone, 1),
               boost::test_tools::tolerance(1e-5));
    // Compare with the plain program, which has no masks, for a single text.
    const InstructionBatch one = alone.in_order(0, 1);
    const NamedTensors unmasked = {one.inputs[0], one.inputs[1]};
    BOOST_REQUIRE(unmasked[1].first == "targets");
    const Results plain = session.run(model.program("score"), unmasked);
    double sum = 0;
    for (const float loss : plain["losses"].span<float>()) sum += loss;
    const Results masked = session.run(evaluate, one.inputs);
    BOOST_TEST(sum / static_cast<double>(one.counted) == masked["loss"].item<float>(),
               boost::test_tools::tolerance(1e-5));
  }
}

BOOST_AUTO_TEST_CASE(training_improves_exact_match_and_the_saved_model_can_chat) {
  const std::vector<std::string> kinds = {"parity", "first letter", "last letter"};
  const Tokenizer tokenizer = letters();
  GptConfig config = tiny(tokenizer, 160);
  config.positions = GptPositions::rotary;
  LanguageModel model =
      trainable(build_instructed_model(config, tokenizer, chatml(), settings(250)));
  const auto learned = make_instructions({.count = 900, .seed = 5, .kinds = kinds});
  const auto asked = make_instructions(
      {.count = 60, .seed = 6, .arguments = InstructionPart::validation, .kinds = kinds});
  const InstructionData data(model, conversations(learned), conversations(asked),
                             InstructionLoss::answers);
  Session session(*model.graph, model.store, {.seed = 4, .threads = 2});
  session.initialise();
  const double before = answer_instructions(session, model, data.held_out).exact_match();
  BOOST_TEST(before == 0);
  Trainer trainer(session, instruction_task(session, model, data), {.settings = model.settings});
  const TrainOutcome outcome = trainer.run();
  const double after = answer_instructions(session, model, data.held_out).exact_match();
  BOOST_TEST_MESSAGE("exact match " << after << ", loss " << outcome.evaluation.loss);
  BOOST_TEST(after > 0.1);
  BOOST_REQUIRE(outcome.evaluation.metrics.size() == 2U);
  BOOST_TEST(outcome.evaluation.metrics[1].value == after);

  const TemporaryFolder folder("instructed");
  save_model(folder.path("m.weft"), model);
  const LoadedModel loaded = load_any_model(folder.path("m.weft"));
  BOOST_TEST(loaded.task.info().name == "instructions");
  const auto& again = dynamic_cast<const LanguageModel&>(*loaded.model);
  BOOST_REQUIRE(again.chat.has_value());
  BOOST_TEST(again.chat->source() == chatml().source());
  Session other(*again.graph, again.store, {.threads = 2});
  LanguageWriter writer(other, again);
  GenerationOptions options = ChatSession::default_options(writer);
  options.sampling.reset();
  options.max_new = 30;
  ChatSession chat(writer, *again.chat, {.room = 8, .options = options});
  std::string heard;
  ChatReply reply = chat.say("Tell me the parity of 12.");
  for (const std::string_view text : reply) heard += text;
  const ChatAnswer answer = reply.run();
  BOOST_TEST(answer.written.text == heard);
  BOOST_TEST(heard.find("<|") == std::string::npos);
  BOOST_TEST(heard ==
             instruction_answers(other, again, {{{"user", "Tell me the parity of 12."}}}).front());
}

BOOST_AUTO_TEST_CASE(commands_train_and_evaluate_full_models_and_adapters) {
  const Shell weft;
  weft.write("train.jsonl", instruction_lines(make_instructions({.count = 300, .seed = 5})));
  weft.write("held.jsonl",
             instruction_lines(make_instructions({.count = 20,
                                                  .seed = 6,
                                                  .phrasings = InstructionPart::test,
                                                  .arguments = InstructionPart::test}),
                               InstructionLines::fields));
  const std::string data =
      " --data " + weft.path("train.jsonl") + " --held-out " + weft.path("held.jsonl");
  const std::string small =
      " --layers 2 --heads 2 --width 32 --context 96 --steps 8 --batch 4 --eval-every 4";
  const std::string model = weft.path("m.weft"), adapted = weft.path("l.weft"),
                    quantized = weft.path("q.weft"), both = weft.path("ql.weft");
  const Outcome full = weft("train gpt --task instructions --chat-format chatml" + data + small +
                            " --vocab 300 --out " + model);
  BOOST_TEST_CONTEXT(full.err << full.out) {
    BOOST_REQUIRE(full.code == 0);
    BOOST_TEST(contains(full.out, "match the expected ones exactly"));
    BOOST_TEST(contains(full.out, "packing"));
  }
  const Outcome measured = weft("evaluate " + model + data);
  BOOST_TEST_CONTEXT(measured.err) {
    BOOST_TEST(measured.code == 0);
    BOOST_TEST(contains(measured.out, "exact match "));
    BOOST_TEST(contains(measured.out, "perplexity"));
  }
  const std::string tune = " --task instructions" + data + " --steps 3 --batch 4 --lora-rank 2";
  const Outcome lora = weft("train gpt --from " + model + tune + " --out " + adapted);
  BOOST_TEST_CONTEXT(lora.err) {
    BOOST_TEST(lora.code == 0);
    BOOST_TEST(contains(lora.out, "adapters"));
  }
  BOOST_TEST(weft("quantize " + model + " --out " + quantized).code == 0);
  const Outcome qlora = weft("train gpt --from " + quantized + tune + " --loss all --out " + both);
  BOOST_TEST_CONTEXT(qlora.err) { BOOST_TEST(qlora.code == 0); }
  for (const std::string& file : {model, adapted, quantized, both}) {
    const Outcome said = weft("chat " + file + " --greedy --tokens 4 --room 8");
    BOOST_TEST_CONTEXT(said.err) { BOOST_TEST(said.code == 0); }
  }
  check_error(
      weft("train gpt --task instructions" + data + small + " --out " + weft.path("n.weft")), 2,
      "--chat-format is required");
  check_error(
      weft("train gpt --task instructions --chat-format chatml --out " + weft.path("n.weft")), 2,
      "--data is required");
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
