//! The page of errors as HTML: of Markdown it uses headings, paragraphs, code and links.

use crate::api::html::escaped;

/// Headings are named as renderers of Markdown name them. Other pages are no part of a server: of links to them, the text stays.
pub(super) fn html(markdown: &str) -> String {
    let mut made = String::new();
    let mut lines = markdown.lines();
    let mut paragraph: Vec<&str> = Vec::new();
    while let Some(line) = lines.next() {
        let is_apart = line.is_empty() || line.starts_with('#') || line.starts_with("```");
        if is_apart && !paragraph.is_empty() {
            made.push_str(&format!("<p>{}</p>\n", inline(&paragraph.join(" "))));
            paragraph.clear();
        }
        if line.starts_with("```") {
            let code: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
            made.push_str(&format!("<pre>{}</pre>\n", escaped(&code.join("\n"))));
        } else if line.starts_with('#') {
            let text = line.trim_start_matches('#');
            let level = line.len() - text.len();
            let (text, name) = (inline(text.trim()), text.trim().to_lowercase().replace(' ', "-"));
            made.push_str(&format!("<h{level} id=\"{}\">{text}</h{level}>\n", escaped(&name)));
        } else if !line.is_empty() {
            paragraph.push(line);
        }
    }
    if !paragraph.is_empty() {
        made.push_str(&format!("<p>{}</p>\n", inline(&paragraph.join(" "))));
    }
    made
}

/// Code between backticks, and links.
fn inline(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(place, part)| match place % 2 {
        0 => links(part),
        _ => format!("<code>{}</code>", escaped(part)),
    });
    parts.collect()
}

fn links(text: &str) -> String {
    let mut made = String::new();
    let mut rest = text;
    while let Some((before, shown, target, behind)) = link(rest) {
        made.push_str(&escaped(before));
        match target.starts_with('#') || target.contains("://") {
            true => made.push_str(&format!("<a href=\"{}\">{}</a>", escaped(target), escaped(shown))),
            false => made.push_str(&escaped(shown)),
        }
        rest = behind;
    }
    made.push_str(&escaped(rest));
    made
}

/// Splits a text at its first link: the text before it, its own text, its target, and the rest.
fn link(text: &str) -> Option<(&str, &str, &str, &str)> {
    let (before, rest) = text.split_once('[')?;
    let (shown, rest) = rest.split_once("](")?;
    let (target, behind) = rest.split_once(')')?;
    Some((before, shown, target, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_html() {
        let text = "# Errors\n\nOne `<code>`\nand [a page](b.md), [a code](#x).\n\n```json\n{\"a\": 1}\n```\n### index_not_found\n404 & more";
        assert_eq!(
            html(text),
            "<h1 id=\"errors\">Errors</h1>\n<p>One <code>&lt;code&gt;</code> and a page, <a href=\"#x\">a code</a>.</p>\n\
             <pre>{&quot;a&quot;: 1}</pre>\n<h3 id=\"index_not_found\">index_not_found</h3>\n<p>404 &amp; more</p>\n"
        );
    }
}
