//! The suite that every store passes: what the control plane relies on, each property written once.
//!
//! A store crate says how to make an empty database (a [`Harness`]) and calls [`crate::conformance_suite!`] in a test
//! file; the macro makes one `#[test]` of each property. Files are by noun. Rows are the engine's own types, and what a
//! property compares is what came back through the trait: nothing here knows SQL.

#![expect(clippy::unwrap_used, reason = "a suite of tests: a panic is how a property fails")]

mod db;
mod samples;

pub mod committer;
pub mod control;
pub mod held;
pub mod ledger;
pub mod listing;
pub mod memory;
pub mod model;
pub mod replay;
pub mod routines;
pub mod serving;
pub mod task_listing;
pub mod tasks;
pub mod timers;
pub mod tokens;
pub mod transactions;

use crate::failure::Failure;
use crate::traits::Store;

/// One database, empty at first, which lasts as long as this.
pub trait Harness {
    /// Opens the database. A second time, after what was opened before is dropped, it holds what was committed.
    ///
    /// # Errors
    /// When another store that is still open serves it.
    fn open(&self) -> Result<Box<dyn Store>, Failure>;

    /// An empty database of its own, for a property that needs many.
    fn another(&self) -> Box<dyn Harness>;
}

/// Makes a test of every property. `$harness` is an expression that makes a new [`Harness`](crate::conformance::Harness).
#[macro_export]
macro_rules! conformance_suite {
    ($harness:expr) => {
        $crate::conformance_suite! { @tests $harness;
            transactions {
                a_change_that_fails_in_the_middle_leaves_nothing,
                a_rollback_leaves_nothing,
                a_transaction_reads_its_own_writes,
                verbs_need_an_open_transaction,
                what_was_committed_is_there_after_reopening,
                readers_see_only_what_was_committed,
            }
            serving {
                a_second_control_plane_is_refused,
                the_database_is_free_when_all_is_dropped,
                there_is_one_writer,
                many_readers_read_beside_the_writer,
            }
            tokens {
                text_comes_back_byte_for_byte,
                an_update_leaves_the_context_alone,
                ids_are_unique_without_case,
                others_are_loaded_by_name,
                only_what_is_wanted_is_loaded,
                a_missing_row_cannot_be_updated,
                every_status_comes_back,
            }
            listing {
                the_newest_come_first_then_by_id,
                filters_narrow_and_the_limit_cuts,
                workflow_state_and_prefix_narrow_too,
                pages_follow_one_another,
                a_place_stays_when_its_token_moves,
                contexts_are_read_up_to_a_size,
            }
            task_listing {
                tasks_are_listed_by_what_they_are,
                tasks_that_nobody_asks_for_are_found,
                held_tasks_are_counted_by_supervisor,
            }
            ledger {
                a_sequence_number_is_used_once,
                a_key_is_used_once_in_a_token,
                history_comes_in_pages,
                every_kind_comes_back,
            }
            tasks {
                claims_take_the_lowest_ids_of_the_named_states,
                a_task_that_is_not_queued_is_not_taken,
                tasks_of_tokens_that_stand_still_are_not_taken,
                claims_can_ask_for_states_with_a_component,
                a_request_finds_the_tasks_it_got,
                what_other_starts_of_a_folder_hold_is_found,
                a_lease_is_over_only_after_its_end,
                open_leases_can_be_moved_later,
                ended_tasks_are_not_open,
                an_id_is_never_given_twice,
            }
            timers {
                timers_are_due_in_order_at_their_instant,
                timers_of_tokens_that_stand_still_wait,
                the_next_instant_is_told,
                timer_ids_are_not_given_again,
                a_timer_can_be_moved,
            }
            held {
                held_events_come_back_in_order,
                held_outcomes_come_back_byte_for_byte,
                the_next_place_is_told_of_a_paused_token,
                a_family_shares_its_places,
                a_place_is_given_once,
                the_beginning_of_a_pause_is_kept,
            }
            memory {
                cells_come_back_by_key,
                bytes_are_counted,
                an_ended_token_has_no_memory,
            }
            routines {
                components_of_every_size_come_back,
                a_component_is_kept_once,
                versions_only_grow,
                the_same_again_makes_no_version,
            }
            control {
                a_database_keeps_its_id,
                the_time_of_the_last_commit_is_kept,
                the_graph_is_on_record,
                live_tokens_of_other_structures_are_counted,
            }
            model {
                random_changes_do_what_a_model_does,
            }
            replay {
                a_ledger_replays_to_the_rows,
            }
            committer {
                inputs_that_arrive_together_share_a_commit,
                a_collision_is_run_once_more,
                a_guilty_input_fails_alone,
                inputs_of_one_batch_share_a_commit,
                a_watch_ends_with_the_commit_about_its_token,
                a_panic_in_a_decision_fails_alone,
                a_refused_input_spoils_nothing,
                a_parked_claim_gets_the_task_that_another_input_queued,
                a_parked_claim_gets_the_task_of_a_token_that_is_resumed,
                a_parked_claim_goes_away_empty_in_time,
                a_repeated_claim_gets_the_same_grant,
                a_heartbeat_in_the_queue_keeps_its_lease,
                upkeep_ends_leases_and_fires_timers,
                a_grant_pins_the_component_in_force,
            }
        }
    };
    (@tests $harness:expr; $($module:ident { $($property:ident,)* })*) => {
        $(mod $module {
            use super::*;
            $(#[test]
            fn $property() {
                $crate::conformance::$module::$property(&$harness);
            })*
        })*
    };
}
