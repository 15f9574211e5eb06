//! Markdown as HTML, and as the sections that the search finds.

use pulldown_cmark::{BlockQuoteKind, CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use crate::api::html::escaped;

/// A part of a page. The one above the first heading below the title has no anchor.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) level: u8,
    pub(super) anchor: String,
    pub(super) title: String,
    /// Words of the section.
    pub(super) text: String,
    /// Words of the section without its examples.
    pub(super) prose: String,
}

/// Addresses of what a page refers to.
pub(super) trait Targets {
    /// The address of what a link leads to. `None`: the text of the link stays.
    fn link(&self, target: &str) -> Option<String>;
    /// The address of a picture. `None`: it is left out.
    fn picture(&self, target: &str) -> Option<String>;
}

fn events(markdown: &str) -> Vec<Event<'_>> {
    Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_GFM).collect()
}

/// Renders a page.
pub(super) fn render(markdown: &str, targets: &impl Targets) -> String {
    let events = events(markdown);
    let mut made = Vec::with_capacity(events.len());
    // Whether each open link has an address.
    let mut links = Vec::new();
    let mut is_left_out = false;
    for (place, event) in events.iter().enumerate() {
        let is_comment = matches!(event, Event::Html(text) | Event::InlineHtml(text) if text.starts_with("<!--"));
        match event {
            Event::End(TagEnd::Image) if is_left_out => is_left_out = false,
            _ if is_left_out || is_comment => {}
            Event::Start(Tag::Heading { level, .. }) => {
                let anchor = anchor(&text_of(&events[place..]));
                made.push(Event::Html(format!("<{level} id=\"{}\">", escaped(&anchor)).into()));
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(kind))) => {
                let class = format!("<pre><code class=\"language-{}\">", escaped(kind));
                made.push(Event::Html(class.into()));
            }
            Event::Start(Tag::BlockQuote(Some(kind))) => made.push(Event::Html(note(*kind).into())),
            Event::Start(Tag::Table(_)) => {
                made.extend([Event::Html("<div class=\"table-wrapper\">".into()), event.clone()]);
            }
            Event::End(TagEnd::Table) => made.extend([event.clone(), Event::Html("</div>\n".into())]),
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let address = targets.link(dest_url);
                links.push(address.is_some());
                made.extend(address.map(|address| {
                    let dest_url = CowStr::from(address);
                    Event::Start(Tag::Link { link_type: *link_type, dest_url, title: title.clone(), id: id.clone() })
                }));
            }
            Event::End(TagEnd::Link) if links.pop() == Some(false) => {}
            Event::Start(Tag::Image { link_type, dest_url, title, id }) => match targets.picture(dest_url) {
                Some(address) => {
                    let dest_url = CowStr::from(address);
                    let (title, id) = (title.clone(), id.clone());
                    made.push(Event::Start(Tag::Image { link_type: *link_type, dest_url, title, id }));
                }
                None => is_left_out = true,
            },
            event => made.push(event.clone()),
        }
    }
    let mut text = String::with_capacity(2 * markdown.len());
    html::push_html(&mut text, made.into_iter());
    text
}

/// The beginning of a note, as the site has it.
fn note(kind: BlockQuoteKind) -> String {
    let name = match kind {
        BlockQuoteKind::Note => "Note",
        BlockQuoteKind::Tip => "Tip",
        BlockQuoteKind::Important => "Important",
        BlockQuoteKind::Warning => "Warning",
        BlockQuoteKind::Caution => "Caution",
    };
    let class = name.to_lowercase();
    format!(
        "<blockquote class=\"blockquote-tag blockquote-tag-{class}\">\n<p class=\"blockquote-tag-title\">{name}</p>\n"
    )
}

/// The text of the heading that `events` begin with.
fn text_of(events: &[Event<'_>]) -> String {
    let inside = events.iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
    inside.map(|event| if let Event::Text(text) | Event::Code(text) = event { &**text } else { "" }).collect()
}

/// The anchor of a heading, as the site names it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// The sections of a page, in order.
pub(super) fn sections(markdown: &str) -> Vec<Section> {
    let events = events(markdown);
    let mut found = vec![Section { level: 1, ..Section::default() }];
    let (mut is_example, mut is_heading) = (false, false);
    for (place, event) in events.iter().enumerate() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                is_heading = true;
                let title = text_of(&events[place..]);
                match level {
                    HeadingLevel::H1 => found[0].title = title,
                    _ => {
                        found.push(Section { level: *level as u8, anchor: anchor(&title), title, ..Section::default() })
                    }
                }
            }
            Event::End(TagEnd::Heading(_)) => is_heading = false,
            Event::Start(Tag::CodeBlock(_)) => is_example = true,
            Event::End(TagEnd::CodeBlock) => is_example = false,
            _ if is_heading => {}
            Event::Text(text) | Event::Code(text) => {
                let section = found.last_mut().expect("the first one is always there");
                section.text.push_str(text);
                if !is_example {
                    section.prose.push_str(text);
                }
            }
            Event::SoftBreak | Event::HardBreak | Event::End(TagEnd::Paragraph | TagEnd::Item | TagEnd::TableCell) => {
                let section = found.last_mut().expect("the first one is always there");
                section.text.push(' ');
                section.prose.push(' ');
            }
            _ => {}
        }
    }
    for section in &mut found {
        for text in [&mut section.text, &mut section.prose] {
            *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Known;

    impl Targets for Known {
        fn link(&self, target: &str) -> Option<String> {
            target.strip_suffix(".md").map(str::to_owned)
        }

        fn picture(&self, target: &str) -> Option<String> {
            (target == "a.svg").then(|| "data:a".to_owned())
        }
    }

    #[track_caller]
    fn renders(markdown: &str, expected: &str) {
        assert_eq!(render(markdown, &Known).trim_end(), expected, "{markdown}");
    }

    #[test]
    fn headings_have_anchors() {
        renders("# Errors & more", "<h1 id=\"errors--more\">Errors &amp; more</h1>");
        renders("### `index_not_found`", "<h3 id=\"index_not_found\"><code>index_not_found</code></h3>");
    }

    #[test]
    fn links_lead_to_pages_or_are_text() {
        renders("[a *b*](c.md) and [d](../e.rs)", "<p><a href=\"c\">a <em>b</em></a> and d</p>");
    }

    #[test]
    fn pictures_are_inside_or_left_out() {
        renders("![one](a.svg)![two](b.png)", "<p><img src=\"data:a\" alt=\"one\" /></p>");
    }

    #[test]
    fn examples_and_notes_look_as_on_the_site() {
        renders("```sh cli\na < b\n```", "<pre><code class=\"language-sh cli\">a &lt; b\n</code></pre>");
        renders(
            "> [!NOTE]\n> Text.",
            "<blockquote class=\"blockquote-tag blockquote-tag-note\">\n<p class=\"blockquote-tag-title\">Note</p>\n\
             <p>Text.</p>\n</blockquote>",
        );
    }

    #[test]
    fn comments_are_not_shown() {
        renders("Text <!-- hidden -->.", "<p>Text .</p>");
        renders("<!-- also: hidden -->\n\nText.", "<p>Text.</p>");
    }

    #[test]
    fn tables_scroll_by_themselves() {
        let html = render("| a |\n|---|\n| 1 |", &Known);
        assert!(html.starts_with("<div class=\"table-wrapper\"><table>"), "{html}");
        assert!(html.ends_with("</table>\n</div>\n"), "{html}");
    }

    #[test]
    fn a_page_has_a_section_for_each_heading() {
        let found = sections("# Page\n\nLead,\nlong.\n\n## Part `a`\n\nText.\n\n```sh\ncurl\n```\n");
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].level, &*found[0].title, &*found[0].text), (1, "Page", "Lead, long."));
        assert_eq!((found[1].level, &*found[1].anchor, &*found[1].title), (2, "part-a", "Part a"));
        assert_eq!((&*found[1].text, &*found[1].prose), ("Text. curl", "Text."));
    }
}
