//! All routes of a server.

use super::route::{Route, parts_of};

/// The rows of all resources, by the groups of the description that clients read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table(pub(crate) &'static [(&'static str, &'static [Route])]);

impl Table {
    /// All of them, in order.
    pub(crate) fn routes(self) -> impl Iterator<Item = &'static Route> {
        self.0.iter().flat_map(|(_, routes)| *routes)
    }

    /// Returns the routes of a path.
    fn at(self, path: &str) -> impl Iterator<Item = &'static Route> {
        let parts = parts_of(path);
        let matches = move |route: &Route| parts.as_ref().is_some_and(|parts| route.matches(parts));
        self.routes().filter(move |route| matches(route) && route.admits(path))
    }

    /// The route of a request, if there is one. Of `/tasks/stream` and `/tasks/{taskUid}` it is the first.
    pub(crate) fn find(self, method: &str, path: &str) -> Option<&'static Route> {
        let parts = parts_of(path)?;
        let all = self.routes().filter(|route| route.endpoint.method == method && route.matches(&parts));
        all.min_by_key(|route| route.name_count())
    }

    /// Returns the methods of a path, each once.
    pub(crate) fn methods_of(self, path: &str) -> Vec<&'static str> {
        let mut methods = Vec::new();
        for method in self.at(path).map(|route| route.endpoint.method) {
            if !methods.contains(&method) {
                methods.push(method);
            }
        }
        methods
    }
}

#[cfg(test)]
mod tests {
    use lamina_data::access::Action;
    use warp::reply::Response;

    use super::super::route::Answer;
    use super::*;
    use crate::http::requests::Handler;

    const NOTHING: Handler = |_| Box::pin(async { Ok(Response::default()) });

    const TABLE: Table = Table(&[
        (
            "Server",
            &[Route::open("/").run(NOTHING), Route::post("/network/control", Action::NetworkUpdate).run(NOTHING)],
        ),
        (
            "Tasks",
            &[
                Route::get("/tasks/{taskUid}", Action::TasksGet).about("Get a task", Answer::Ok("Task")).run(NOTHING),
                Route::get("/tasks/stream", Action::TasksGet).about("Stream events", Answer::Events).run(NOTHING),
                Route::post("/tasks/cancel", Action::TasksCancel).about("Cancel", Answer::Task(200)).run(NOTHING),
            ],
        ),
    ]);

    #[test]
    fn requests_find_their_route() {
        let of = |method: &str, path: &str| TABLE.find(method, path).map(|route| route.endpoint.pattern);
        assert_eq!(of("GET", "/"), Some("/"));
        assert_eq!(of("GET", "/tasks/12"), Some("/tasks/{taskUid}"));
        assert_eq!(of("GET", "/tasks/stream"), Some("/tasks/stream"), "a name comes before any text");
        assert_eq!(of("GET", "/tasks/cancel"), Some("/tasks/{taskUid}"));
        assert_eq!(of("POST", "/tasks/12"), None);
        assert_eq!(of("GET", "/tasks"), None);
        assert_eq!(of("GET", "/tasks/"), None);
        assert_eq!(of("GET", "/tasks/12/documents"), None);
        assert_eq!(of("GET", "*"), None);
    }

    #[test]
    fn paths_have_methods() {
        let of = |path: &str| TABLE.methods_of(path);
        assert_eq!(of("/tasks/cancel"), ["GET", "POST"]);
        assert_eq!(of("/tasks/stream"), ["GET"], "it is the path of two routes");
        assert_eq!(of("/network/control"), ["POST"], "it is not listed, but there");
        assert_eq!(of("/nowhere"), [""; 0]);
    }
}
