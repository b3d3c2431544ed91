// Trains the small models of ./run check serve, in about 15 s.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";

// A chat template with tools, in the form of Qwen and Hermes.
const template = `{%- if tools %}<|im_start|>system
{{ tools | tojson }}<|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{% if message.role == "assistant" %}{% generation %}{{ message.content or "" }}
{%- for call in message.tool_calls or [] %}<tool_call>
{{ call.function | tojson }}
</tool_call>{% endfor %}<|im_end|>{% endgeneration %}{% else %}{{ message.content }}<|im_end|>{% endif %}
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}`;

const lines = (n, make) => Array.from({ length: n }, (_, i) => make(i) + "\n").join("");
const pick = (list, i) => list[i % list.length];

function conversation(i) {
  const [a, b] = [i % 10, (7 * i) % 10];
  const name = pick(["Ada", "Bo", "Cy"], i);
  return JSON.stringify({
    messages: [
      { role: "user", content: `What is ${a} + ${b}?` },
      { role: "assistant", content: `${name} says: ${a} + ${b} = ${a + b}.` },
    ],
  });
}

function review(i) {
  const word = pick(["great", "awful", "lovely", "dull"], i);
  return `${pick(["good", "bad"], i)}\tthe ${pick(["film", "song", "meal"], i)} was ${word} ${i}`;
}

// Trains the models whose files are missing, and returns the paths of all models and adapters by name.
export function makeModels(weft, folder) {
  mkdirSync(folder, { recursive: true });
  const write = (name, text) => {
    writeFileSync(`${folder}/${name}`, text);
    return `${folder}/${name}`;
  };
  const train = (name, options) => {
    const path = `${folder}/${name}.weft`;
    const always = ["--eval-every", "0", "--threads", "1", "--out", path];
    if (!existsSync(path))
      execFileSync(weft, ["train", ...options.trim().split(/\s+/), ...always], {
        stdio: ["ignore", "ignore", "inherit"],
      });
    return path;
  };

  const chats = write("chats.jsonl", lines(200, conversation));
  const reviews = write("reviews.tsv", lines(80, review));
  const pairs = write(
    "pairs.tsv",
    lines(100, (i) => `abc${i}\t${i}cba`),
  );
  const jinja = write("chat.jinja", template);
  const tiny = "--layers 2 --width 32 --heads 2 --vocab 200";

  const chat = train(
    "chat",
    `gpt --task instructions --data ${chats} --chat-format ${jinja} --vocab 400 --layers 2 --heads 4
     --kv-heads 2 --width 64 --context 1024 --steps 40 --batch 2`,
  );
  train(
    "pirate",
    `gpt --task instructions --data ${chats} --from ${chat} --lora-rank 4 --steps 10 --batch 2`,
  );
  return {
    models: {
      chat,
      plain: train(
        "plain",
        `gpt --text ${chats} --tokenizer byte-bpe:300 --layers 1 --heads 2 --width 32 --context 64
         --steps 3 --batch 2`,
      ),
      encoder: train(
        "encoder",
        `encoder --task embedding --data tests/fixtures/retrieval/pairs.tsv --steps 5 ${tiny}`,
      ),
      ranker: train(
        "ranker",
        `encoder --task similarity --data tests/fixtures/scored/similar.tsv --steps 5 ${tiny}`,
      ),
      classes: train(
        "classes",
        `encoder --task classify --data ${reviews} --preset bert-mini --steps 20 ${tiny}`,
      ),
      backwards: train(
        "backwards",
        `seq2seq --pairs ${pairs} --preset eng-swe-short --vocab 60 --steps 5 --width 32`,
      ),
    },
    adapters: { "chat:pirate": `${folder}/pirate.lora.safetensors` },
  };
}
