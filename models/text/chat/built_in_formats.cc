// Built-in chat formats. Their templates are those of the published models.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/text/chat/chat_format.h"

namespace weft {
namespace {

struct BuiltIn {
  std::string_view name, source;
  /// Default bos_token and eos_token. An entry is empty if the format does not use that token.
  std::array<std::string_view, 2> ends;
};

// OpenAI's ChatML, in the form used by Qwen and many other models.
constexpr std::string_view kChatMl =
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

// LLaMA 2 (Touvron et al. 2023): pairs of user and assistant turns. The system message is part of
// the first user turn.
constexpr std::string_view kLlama2 =
    "{% if messages[0]['role'] == 'system' %}"
    "{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}"
    "{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}"
    "{% for message in loop_messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}"
    "{% endif %}"
    "{% if loop.index0 == 0 and system_message != false %}"
    "{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}"
    "{% else %}{% set content = message['content'] %}{% endif %}"
    "{% if message['role'] == 'user' %}"
    "{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}"
    "{% elif message['role'] == 'assistant' %}"
    "{{ ' ' + content.strip() + ' ' + eos_token }}"
    "{% endif %}"
    "{% endfor %}";

constexpr std::string_view kLlama3 =
    "{% for message in messages %}"
    "{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'"
    " + message['content'] | trim + '<|eot_id|>' %}"
    "{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}"
    "{{ content }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}"
    "{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}";

// Alpaca (Taori et al. 2023), extended to several turns: later turns have the same form, and each
// answer ends with eos_token.
constexpr std::string_view kAlpaca =
    "{% if messages[0]['role'] == 'system' %}"
    "{{ messages[0]['content'] + '\\n\\n' }}{% set turns = messages[1:] %}"
    "{% else %}"
    "{{ 'Below is an instruction that describes a task. Write a response that appropriately "
    "completes the request.\\n\\n' }}{% set turns = messages %}"
    "{% endif %}"
    "{% for message in turns %}"
    "{% if message['role'] == 'user' %}"
    "{{ '### Instruction:\\n' + message['content'] + '\\n\\n' }}"
    "{% elif message['role'] == 'input' %}"
    "{{ '### Input:\\n' + message['content'] + '\\n\\n' }}"
    "{% elif message['role'] == 'assistant' %}"
    "{{ '### Response:\\n' + message['content'] + eos_token }}"
    "{% if not loop.last %}{{ '\\n\\n' }}{% endif %}"
    "{% else %}"
    "{{ raise_exception('Only user, input and assistant roles are supported!') }}"
    "{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '### Response:\\n' }}{% endif %}";

constexpr std::array<BuiltIn, 4> kBuiltIn = {
    {{"chatml", kChatMl, {"", "<|im_end|>"}},
     {"llama-2", kLlama2, {"<s>", "</s>"}},
     {"llama-3", kLlama3, {"<|begin_of_text|>", "<|eot_id|>"}},
     {"alpaca", kAlpaca, {"<s>", "</s>"}}}};

}  // namespace

std::vector<std::string_view> ChatFormat::built_in_names() {
  std::vector<std::string_view> names;
  for (const BuiltIn& format : kBuiltIn) names.push_back(format.name);
  return names;
}

ChatFormat ChatFormat::built_in(std::string_view name, const SpecialTexts& specials) {
  const auto found = std::find_if(kBuiltIn.begin(), kBuiltIn.end(),
                                  [&](const BuiltIn& format) { return format.name == name; });
  if (found == kBuiltIn.end()) {
    throw ArgumentError(fmt::format("unknown chat format '{}'; built-in formats are '{}'", name,
                                    fmt::join(built_in_names(), "', '")));
  }
  SpecialTexts all = specials;
  if (!found->ends[0].empty()) all.emplace("bos_token", found->ends[0]);
  if (!found->ends[1].empty()) all.emplace("eos_token", found->ends[1]);
  return from_template(found->source, std::move(all));
}

}  // namespace weft
