// The commands of the program `weft`. Each function adds the options of its command to the command
// line and sets `action` to the action of that command, which returns the exit code.
#pragma once

#include "weft/models/program/options/action.h"

namespace CLI {
class App;
}

namespace weft::program {

void add_train_command(CLI::App& app, Action& action);
void add_classify_command(CLI::App& app, Action& action);
void add_tag_command(CLI::App& app, Action& action);
void add_fill_command(CLI::App& app, Action& action);
void add_embed_command(CLI::App& app, Action& action);
void add_answer_command(CLI::App& app, Action& action);
void add_generate_command(CLI::App& app, Action& action);
void add_chat_command(CLI::App& app, Action& action);
void add_score_command(CLI::App& app, Action& action);
void add_translate_command(CLI::App& app, Action& action);
void add_inspect_command(CLI::App& app, Action& action);
void add_tokenizer_command(CLI::App& app, Action& action);
void add_quantize_command(CLI::App& app, Action& action);
void add_convert_command(CLI::App& app, Action& action);
void add_merge_command(CLI::App& app, Action& action);
void add_evaluate_command(CLI::App& app, Action& action);
void add_bench_command(CLI::App& app, Action& action);
void add_run_command(CLI::App& app, Action& action);
void add_data_command(CLI::App& app, Action& action);
void add_verify_command(CLI::App& app, Action& action);
void add_vectors_command(CLI::App& app, Action& action);

}  // namespace weft::program
