//! A headless browser, and scripts in the page.

use std::process::Command;

use libtest_mimic::Failed;
use serde_json::Value;

/// Width of the page in pixels, and its colours.
#[derive(Clone, Copy)]
pub struct View {
    pub width: u32,
    pub dark: bool,
}

#[derive(Clone, Copy, Default)]
pub struct Browser(&'static str);

impl Browser {
    pub fn find() -> Option<Browser> {
        let runs = |name: &&str| Command::new(name).arg("--version").output().is_ok();
        ["chromium", "chromium-browser", "google-chrome"].into_iter().find(runs).map(Browser)
    }

    /// The value that a script returns in the page: it is the body of a function.
    pub fn find_in(&self, page: &str, view: View, script: &str) -> Result<Value, Failed> {
        let dir = tempfile::tempdir()?;
        let asked = format!(
            "<script>addEventListener('load', async () => {{\n\
             let result;\n\
             try {{ result = {{ found: await (async () => {{ {script} }})() }} }}\n\
             catch (error) {{ result = {{ error: String(error && error.stack || error) }} }}\n\
             parent.postMessage(JSON.stringify(result), '*');\n}});</script></body>"
        );
        // A page of that width in another, since a browser's window cannot be as narrow as a phone.
        std::fs::write(dir.path().join("page.html"), page.replacen("</body>", &asked, 1))?;
        let outer = format!(
            "<!doctype html><meta charset=utf-8><meta name=color-scheme content='light dark'>\
             <style>body {{ margin: 0 }} iframe {{ border: 0; display: block }}</style>\
             <iframe src='page.html' width={} height=900></iframe><pre id=result hidden></pre>\
             <script>addEventListener('message', (event) => {{\
             const result = document.getElementById('result');\
             result.removeAttribute('hidden'); result.textContent = event.data }})</script>",
            view.width
        );
        std::fs::write(dir.path().join("outer.html"), outer)?;
        let output = Command::new(self.0)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update"])
            .args(["--disable-sync", "--disable-quic", "--hide-scrollbars"])
            .arg(format!("--window-size={},900", view.width.max(500)))
            // Milliseconds of the page's own clock that its scripts get.
            .arg("--virtual-time-budget=20000")
            .arg(format!("--blink-settings=preferredColorScheme={}", u8::from(!view.dark)))
            .arg(format!("--user-data-dir={}", dir.path().join("profile").display()))
            .arg("--dump-dom")
            .arg(format!("file://{}", dir.path().join("outer.html").display()))
            .output()?;
        let dom = String::from_utf8_lossy(&output.stdout);
        let text = dom.split_once("<pre id=\"result\">").and_then(|of| of.1.split_once("</pre>"));
        let text = text.ok_or_else(|| format!("the page returned nothing: {dom:.300}"))?.0;
        let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        let result: Value = serde_json::from_str(&text).map_err(|e| format!("{e}: {text:.300}"))?;
        match result.get("error") {
            Some(error) => Err(format!("{error}").into()),
            None => Ok(result["found"].clone()),
        }
    }
}
