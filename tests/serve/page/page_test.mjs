// Tests the page of a running server in Chromium: node page_test.mjs ADDRESS FOLDER, with the API key in WEFT_API_KEY. The
// server has the models `chat` and `encoder` (tests/serve/clients/models.mjs). Screenshots are written to FOLDER.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { check as run, report } from "../clients/checks.mjs";
import { Browser } from "./browser.mjs";

const [address, folder] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await Browser.start();
// A check with a screenshot of its failure.
const check = (name, work) =>
  run(name, work, (failure) =>
    browser.screenshot(`${folder}/failed-${failure}.png`).catch(() => {}),
  );

const idle = () => browser.until("!running", "the end of the request");
const set = async (id, value) => {
  await browser.fill("#" + id, value);
  await browser.run("document.activeElement.blur()");
};
const ask = async (text) => {
  await browser.fill("#question", text);
  await browser.press("\uE007");
};
const engine = () =>
  browser.run("return callJson('status').then((status) => status.models[0].engine)");
const answers = () =>
  browser.run(
    "return [...document.querySelectorAll('.assistant .text')].map((node) => node.innerText)",
  );
const note = () => browser.text(".assistant:last-child .text + .muted");
const openTab = (name) => browser.click("#tab-" + name);

try {
  await browser.resize(1280, 900);
  await browser.colours("light");
  await browser.open(address + "/");

  await check("the first stop of the keyboard skips to the content", async () => {
    await browser.press("\uE004");
    assert.equal(await browser.run("return document.activeElement.className"), "skip");
    await browser.press("\uE007");
    await browser.until("document.activeElement.id === 'main'");
  });

  await check("a missing API key is reported, and a key is accepted", async () => {
    await browser.until("!document.getElementById('problem').hidden");
    assert.match(await browser.text("#problem"), /^401: .+ Set it with the button API key\.$/);
    await browser.click("#key");
    await browser.type("#key-value", process.env.WEFT_API_KEY + "\uE007");
    await browser.until("document.getElementById('model').value === 'chat'");
    await browser.until("document.getElementById('problem').hidden");
    await browser.console(); // the 401 is in the console, too
  });

  await check("an answer is streamed and its figures are shown", async () => {
    // A format that makes answers long, however the model was trained.
    await browser.choose("#format", "regex");
    await set("format-text", "[a-z]{4000,}");
    await set("max_tokens", "800");
    await set("temperature", "1");
    await browser.run(`window.lengths = [];
      new MutationObserver(() => lengths.push(document.querySelector(".assistant .text")?.innerText.length || 0))
        .observe(document.getElementById("log"), { subtree: true, childList: true });`);
    await ask("Hello");
    await browser.until("messages.length === 2");
    await idle();
    const lengths = await browser.run("return [...new Set(lengths)]");
    assert.ok(lengths.length > 3, "texts of lengths " + lengths);
    assert.ok(lengths.every((length, i) => i === 0 || length > lengths[i - 1]));
    assert.match(
      await note(),
      /^\d+ \+ 800 tokens.*tokens\/s, first after [\d.]+ s, ended by length/,
    );
    assert.equal(await browser.text(".user .text"), "Hello");
    assert.equal(await browser.text("#send"), "Send");
  });

  await check("Escape stops an answer", async () => {
    const { cancelled } = await engine();
    // Small models are fast: the key is pressed when the first text appears.
    await browser.run(`window.button = "";
      new MutationObserver((_, observer) => {
        if (!document.querySelectorAll(".assistant .text")[1]?.innerText) return;
        observer.disconnect();
        button = document.getElementById("send").textContent;
        document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
      }).observe(document.getElementById("log"), { subtree: true, childList: true });`);
    await ask("Tell me a long story");
    await browser.until("messages.length === 4");
    await idle();
    assert.equal(await browser.run("return button"), "Stop");
    assert.equal(await note(), "stopped");
    assert.ok((await browser.run("return messages[3].content.length")) < 800);
    for (let i = 0; i < 100 && (await engine()).running > 0; ++i) await browser.run("return idle");
    assert.equal((await engine()).running, 0);
    assert.equal((await engine()).cancelled, cancelled + 1);
  });

  await check("the number of tokens is limited", async () => {
    await set("max_tokens", "3");
    await ask("Three tokens");
    await browser.until("messages.length === 6");
    await idle();
    assert.match(await note(), /\+ 3 tokens.*ended by length$/);
  });

  await check("Regenerate repeats an answer with the same seed", async () => {
    await set("max_tokens", "12");
    await set("seed", "7");
    for (let i = 0; i < 2; ++i) {
      await browser.click(".assistant:last-child button");
      await idle();
    }
    const first = (await answers()).at(-1);
    await browser.click(".assistant:last-child button");
    await idle();
    assert.equal((await answers()).at(-1), first);
    await set("seed", "8");
    await browser.click(".assistant:last-child button");
    await idle();
    assert.notEqual((await answers()).at(-1), first);
  });

  await check("a message can be edited", async () => {
    await browser.click(".user button");
    await browser.fill(".user textarea", "Hello again");
    await browser.press("\uE007");
    await browser.until("messages.length === 2 && !running");
    assert.equal(await browser.text(".user .text"), "Hello again");
  });

  await check("the format of an answer can be chosen", async () => {
    await set("max_tokens", "");
    await browser.choose("#format", "choice");
    await ask("yes or no?");
    await browser.until("messages.length === 4 && !running");
    assert.match((await answers()).at(-1), /^(yes|no)$/);
  });

  await check("errors of the server are shown, and the question is kept", async () => {
    await browser.choose("#format", "regex");
    await set("format-text", "(");
    await ask("Kept?");
    await browser.until("!document.getElementById('chat-error').hidden");
    assert.match(await browser.text("#chat-error"), /^400: .*regular expression/);
    assert.equal(await browser.run("return document.getElementById('question').value"), "Kept?");
    assert.equal(await browser.run("return messages.length"), 4);
    await browser.choose("#format", "text");
    await browser.console(); // the 400 is in the console, too
  });

  await check("texts of models never become HTML", async () => {
    const html =
      await browser.run(`return el("div", {}, ...markdown("<img src=x onerror=alert(1)> **b** [x](javascript:y)" +
      "\\n\\n\`\`\`html\\n<script>z</script>\\n\`\`\`\\n- [a](https://b.c/d)")).innerHTML`);
    assert.equal(
      html,
      '<p>&lt;img src=x onerror=alert(1)&gt; <strong>b</strong> [x](javascript:y)</p><div class="code"><pre><code>' +
        '&lt;script&gt;z&lt;/script&gt;</code></pre><button type="button" class="small">Copy</button></div><ul><li>' +
        '<a href="https://b.c/d" rel="noopener noreferrer" target="_blank">a</a></li></ul>',
    );
  });

  await check("settings and messages survive a reload", async () => {
    await set("system", "Be brief.");
    await browser.open(address + "/#/chat");
    await browser.command("POST", "/refresh", {});
    await browser.until("document.getElementById('model').value === 'chat'");
    assert.equal(await browser.run("return document.getElementById('system').value"), "Be brief.");
    assert.equal(await browser.run("return messages.length"), 4);
  });

  await check("tokens have probabilities and alternatives", async () => {
    await openTab("complete");
    await set("max_tokens", "20");
    await browser.click("#run");
    await browser.until("!running && tokens.length > 0");
    const found = await browser.run("return tokens");
    for (const { probability, top } of found) {
      assert.ok(probability >= 0 && probability <= 1);
      assert.ok(top.length > 0 && top.length <= 6);
      assert.ok(top.every(([, p]) => p >= 0 && p <= 1));
    }
    await browser.run("document.querySelector('#tokens [tabindex=\"0\"]').focus()");
    await browser.press("\uE014");
    assert.equal(
      await browser.run("return document.activeElement.textContent"),
      found[1].text.replaceAll("\n", "⏎\n") || "∅",
    );
    assert.ok((await browser.text("#alternatives")).startsWith(JSON.stringify(found[1].text)));
    assert.match(await browser.text("#complete-note"), new RegExp(`\\+ ${found.length} tokens`));
  });

  await check("tokens of a prompt have ids", async () => {
    await browser.click("#tokenize");
    await browser.until("!running && tokens.length > 0 && tokens[0].id !== undefined");
    assert.equal(
      await browser.run("return tokens.map((token) => token.text).join('').trim()"),
      "Once upon a time",
    );
  });

  await check("embeddings are compared", async () => {
    await openTab("texts");
    await browser.choose("#model", "encoder");
    await browser.click("#texts-run");
    await browser.until("document.querySelectorAll('.matrix td').length === 16");
    const cells = await browser.run(
      "return [...document.querySelectorAll('.matrix td')].map((cell) => cell.textContent)",
    );
    for (let i = 0; i < 4; ++i) {
      assert.equal(cells[5 * i], "1.00");
      for (let j = 0; j < 4; ++j) assert.equal(cells[4 * i + j], cells[4 * j + i]);
    }
  });

  await check("the state of the server is shown", async () => {
    await openTab("server");
    await browser.until("document.querySelectorAll('#cards section').length >= 2");
    assert.match(await browser.text("#server-note"), /^Weft .+, running for /);
    assert.match(await browser.text("#cards"), /Running, waiting0, 0/);
  });

  await check("all fields have labels", async () => {
    const ids = await browser.run(
      "return [...document.querySelectorAll('button[id], input[id], select[id], textarea[id]')].map((node) => node.id)",
    );
    assert.ok(ids.length > 25);
    for (const name of ["chat", "complete", "texts", "server"]) {
      await openTab(name);
      for (const id of ids) {
        if (
          !(await browser.run("return document.getElementById(arguments[0]).checkVisibility()", id))
        )
          continue;
        assert.notEqual(await browser.label("#" + id), "", `#${id} has a label`);
      }
    }
  });

  await check("tabs can be changed with the arrow keys", async () => {
    await openTab("server");
    await browser.press("\uE014");
    assert.equal(await browser.run("return document.activeElement.id"), "tab-chat");
    assert.equal(await browser.run("return document.getElementById('chat').hidden"), false);
  });

  // Screenshots, and no part is wider than a narrow screen.
  await browser.run(`messages = [{ role: "user", content: "What does Weft print for **ReLU**?" }, { role: "assistant", model: "chat",
    content: "A short answer with \`code\`:\\n\\n\`\`\`cpp\\nconst Value y = relu(matmul(x, w) + b);  // one fused kernel\\n\`\`\`\\n" +
      "- a list\\n- of two entries\\n\\n> and a quotation", note: "12 + 40 tokens, 55.1 tokens/s, first after 0.12 s" }];
    showMessages();`);
  for (const [size, width, height] of [
    ["wide", 1280, 900],
    ["narrow", 360, 740],
    ["least", 320, 640],
  ])
    for (const scheme of ["light", "dark"]) {
      await browser.resize(width, height);
      await browser.colours(scheme);
      for (const name of ["chat", "complete", "texts", "server"]) {
        await openTab(name);
        await browser.run("document.getElementById('settings').open = innerWidth > 800");
        if (name === "complete" && scheme === "light" && size === "wide") {
          await browser.click("#run");
          await browser.until("!running && tokens.length > 0");
          await browser.run("document.querySelector('#tokens [role=button]').focus()");
        }
        if (name === "server") await browser.until("document.querySelector('#cards section')");
        await check(`${name} fits into ${width} pixels (${scheme})`, async () => {
          const widths = await browser.run(
            "return [document.documentElement.scrollWidth, innerWidth]",
          );
          assert.ok(widths[0] <= widths[1], `${widths[0]} > ${widths[1]}`);
        });
        if (size !== "least") await browser.screenshot(`${folder}/${name}-${size}-${scheme}.png`);
      }
    }

  await check("the console has no errors", async () => {
    assert.deepEqual(
      (await browser.console()).filter((line) => line.startsWith("SEVERE")),
      [],
    );
  });
} finally {
  await browser.close();
}
console.log("screenshots are in " + folder);
report("page");
