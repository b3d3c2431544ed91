// A browser that is driven by WebDriver (chromedriver), without npm packages.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const kElement = "element-6066-11e4-a52e-4f735466cecf";

export class Browser {
  // Starts chromedriver on a free port and Chromium without a window.
  static async start() {
    const browser = new Browser();
    browser.driver = spawn("chromedriver", ["--port=0"], { stdio: ["ignore", "pipe", "inherit"] });
    browser.profile = mkdtempSync(join(tmpdir(), "weft-page-"));
    const port = await new Promise((resolve, reject) => {
      let output = "";
      browser.driver.stdout.on("data", (data) => {
        output += data;
        const [, found] = output.match(/successfully on port (\d+)/) || [];
        if (found) resolve(found);
      });
      browser.driver.on("exit", () => reject(new Error("chromedriver ended: " + output)));
    });
    browser.url = `http://127.0.0.1:${port}/session`;
    const args = [
      "--headless=new",
      "--no-sandbox",
      "--disable-dev-shm-usage",
      "--disable-gpu",
      "--hide-scrollbars",
      `--user-data-dir=${browser.profile}`,
    ];
    const { sessionId } = await browser.command("POST", "", {
      capabilities: {
        alwaysMatch: { "goog:chromeOptions": { args }, "goog:loggingPrefs": { browser: "ALL" } },
      },
    });
    browser.url += "/" + sessionId;
    return browser;
  }

  async command(method, path, body) {
    const response = await fetch(this.url + path, { method, body: body && JSON.stringify(body) });
    const { value } = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${value.error}: ${value.message}`);
    return value;
  }

  open(address) {
    return this.command("POST", "/url", { url: address });
  }
  async find(selector) {
    return (await this.command("POST", "/element", { using: "css selector", value: selector }))[
      kElement
    ];
  }
  async click(selector) {
    await this.command("POST", `/element/${await this.find(selector)}/click`, {});
  }
  // Types at the end of a field; "\uE00C" is Escape, "\uE007" Enter, "\uE004" Tab, "\uE014" the right arrow.
  async type(selector, text) {
    await this.command("POST", `/element/${await this.find(selector)}/value`, { text });
  }
  // Replaces the text of a field, as a user would.
  async fill(selector, text) {
    await this.run(
      "const field = document.querySelector(arguments[0]); field.focus(); field.select();",
      selector,
    );
    await this.type(selector, text === "" ? "\uE003" : text);
  }
  async choose(selector, value) {
    await this.run(
      `const field = document.querySelector(arguments[0]);
      field.value = arguments[1]; field.dispatchEvent(new Event("change", { bubbles: true }));`,
      selector,
      value,
    );
  }
  async press(key) {
    await this.command("POST", "/actions", {
      actions: [
        {
          type: "key",
          id: "keys",
          actions: [
            { type: "keyDown", value: key },
            { type: "keyUp", value: key },
          ],
        },
      ],
    });
  }
  run(script, ...args) {
    return this.command("POST", "/execute/sync", { script, args });
  }
  text(selector) {
    return this.run("return document.querySelector(arguments[0])?.textContent ?? null", selector);
  }
  async label(selector) {
    return this.command("GET", `/element/${await this.find(selector)}/computedlabel`);
  }

  // Waits until an expression of the page is true, at most for 30 s.
  async until(expression, what = expression) {
    for (let i = 0; i < 600; ++i) {
      if (await this.run(`return Boolean(${expression})`)) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error("waited 30 s for: " + what);
  }

  devtools(cmd, params) {
    return this.command("POST", "/goog/cdp/execute", { cmd, params });
  }
  resize(width, height) {
    return this.devtools("Emulation.setDeviceMetricsOverride", {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: width < 500,
    });
  }
  colours(scheme) {
    return this.devtools("Emulation.setEmulatedMedia", {
      features: [{ name: "prefers-color-scheme", value: scheme }],
    });
  }
  async screenshot(file) {
    writeFileSync(file, Buffer.from(await this.command("GET", "/screenshot"), "base64"));
  }
  // The messages of the console since the last call.
  async console() {
    return (await this.command("POST", "/se/log", { type: "browser" })).map(
      (entry) => `${entry.level}: ${entry.message}`,
    );
  }

  async close() {
    try {
      await this.command("DELETE", "");
    } finally {
      this.driver.kill();
      rmSync(this.profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    }
  }
}
