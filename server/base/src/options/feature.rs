//! The experimental features by their public names.

macro_rules! features {
    ($($variant:ident = $name:literal,)*) => {
        /// A feature. Most of them are listed so that clients can ask for them, and change nothing here.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Feature { $(#[doc = $name] $variant,)* }

        impl Feature {
            /// All features, in the order in which they are shown.
            pub const ALL: &'static [Feature] = &[$(Feature::$variant,)*];

            /// The public name.
            pub fn name(self) -> &'static str { match self { $(Feature::$variant => $name,)* } }
        }
    };
}

features! {
    Metrics = "metrics",
    LogsRoute = "logsRoute",
    TasksStreamingRoute = "tasksStreamingRoute",
    EditDocumentsByFunction = "editDocumentsByFunction",
    ContainsFilter = "containsFilter",
    DynamicSearchRules = "dynamicSearchRules",
    Network = "network",
    GetTaskDocumentsRoute = "getTaskDocumentsRoute",
    TaskQueueCompactionRoute = "taskQueueCompactionRoute",
    CompositeEmbedders = "compositeEmbedders",
    ChatCompletions = "chatCompletions",
    Multimodal = "multimodal",
    ForeignKeys = "foreignKeys",
    DisableDocumentsFetchQueue = "disableDocumentsFetchQueue",
    LegacySearch = "legacySearch",
    RenderRoute = "renderRoute",
}
